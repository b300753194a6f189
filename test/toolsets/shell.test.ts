import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { ApprovalRequest } from "../../src/core/approvals/ask.ts";
import type { EventListener, RuntimeEvent } from "../../src/core/event.ts";
import { resultText } from "../../src/core/result.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { pythonToolset, shellToolset } from "../../src/toolsets/shell.ts";
import { HAS_PYTHON, HAS_SANDBOX, SANDBOX, bash, folderWith, isRunning, openedRuntime } from "./programs/program-room.ts";
import { IN_CI, inCI } from "../ci.ts";
import { findBlockingCommand } from "../../src/toolsets/programs/blocking-commands.ts";
import { testInCI } from "../test-in-ci.ts";

describe("F1.64 a command that is rejected or fails", () => {
  test.each([
    ["sleep 60", "it only waits"],
    ["sleep 1m", "it only waits"],
    ["sleep 0.5h; ", "it only waits"],
    ["sleep infinity", "it only waits"],
    ["vim notes.txt", "it needs a terminal, and there is none"],
    ["cd src && python3", "it would read its commands from a terminal, and there is none"],
    ["tail -f log.txt", "it never ends"],
    ["git commit", "it would open an editor"],
    ["FOO=1 git rebase -i HEAD~3", "it needs a terminal, and there is none"],
    ["sudo apt install x", "it may ask for a password"],
    ["read name", "it reads from a terminal, and there is none"],
  ])("%s waits for input, so it is rejected with a hint for the model", async (command, reason) => {
    const runtime = await openedRuntime({ root: folderWith(), sandbox: "none" });
    const { status, error } = await bash(runtime, command);
    expect([status, error?.code, error?.message.endsWith(`is not run: ${reason}.`), error?.hint]).toEqual([
      "error",
      "invalid_input",
      true,
      expect.any(String),
    ]);
  });

  testInCI("commands that only look interactive are run", async () => {
    const runtime = await openedRuntime({ root: folderWith({ "a.txt": "one\ntwo\n" }), sandbox: "none" });
    const commands = [
      "tail -n 1 a.txt",
      "cat < a.txt",
      "echo vim",
      "sleep 0.01; echo x",
      "printf 'git commit'",
      "while read l; do echo $l; done < a.txt",
      "cat <<E\nx\nE",
      "cat > notes.md <<'EOF'\nSome notes\nmore to come\nEOF",
      'cat <<-"E" > b.txt\n\twatch the logs\n\tE\necho x',
      "echo 'Fix it\n\nmore details'",
      'echo "first\nselect\n name\nfrom t"',
      "echo 'a; less b' \"it's; vim c\"",
      "echo it\\'s; echo 'more'",
    ];
    for (const command of commands) expect([command, (await bash(runtime, command)).status]).toEqual([command, "ok"]);
  });

  test.each([
    "git commit \\\n  -m 'message'",
    "git \\\n commit --amend \\\n --no-edit",
    "sudo -n ls",
    "sudo  -n ls",
    "sudo \\\n  -n ls",
    "sudo -E -n ls",
    "sudo -En ls",
    "sudo -nE ls",
    "sudo --non-interactive ls",
    "sleep 1 \\\n && sleep 60",
    "top -bn1",
    "top -b -n 1",
    "top -n 1 -b",
    "top -bcn 1 -o %MEM",
    "emacs -Q --batch -l a.el",
    "vim -es -u NONE +'%s/a/b/' +wq a.txt",
    "vim -Nes -c wq a.txt",
    "vim --version",
    "nvim --headless +qa",
    "less a.txt",
    "cat a.txt | less",
    "man ls",
    "tmux new-session -d -s a",
    "tmux kill-server",
    "screen -dmS a sh",
    "screen -S a -X quit",
    "fzf --filter=x",
    "git commit --dry-run",
    "git commit --porcelain",
    "git commit -i a.txt -m x",
    "GIT_EDITOR=true git commit --amend",
    "GIT_EDITOR=true git rebase --continue",
    "GIT_SEQUENCE_EDITOR='sed -i s/pick/squash/' git rebase -i HEAD~3",
    "tail -f log.txt & sleep 1; kill $!",
    "passwd -S",
    "sudo -k",
    "python3 -c 'print(1)'",
    "psql -c 'select 1'",
    "ssh host ls",
  ])("%j does not wait for input", (command) => {
    expect(findBlockingCommand(command)).toBeUndefined();
  });

  test.each([
    "git commit \\\n  --amend",
    "sudo  apt install x",
    "sudo apt -n x",
    "sudo -u www ls",
    "vim \\\n a.txt",
    "FOO=1 \\\n vim a.txt",
    "top",
    "top -b",
    "top -u bn1",
    "emacs batch.el",
    "vim -e a.txt",
    "vim files/a.txt",
    "tmux",
    "screen -S a",
    "fzf",
    "git commit -a",
    "git commit -p -m x",
    "git rebase --autosquash -i HEAD~3",
    "tail -f log.txt 2>&1",
    "tail -f log.txt &> out",
    "watch -n 1 ls",
    "su -l www",
  ])("%j waits for input, and is reported as it was written", (command) => {
    expect(findBlockingCommand(`echo; ${command}`)?.part).toBe(command.replace(/^FOO=1 \\\n /u, ""));
  });

  test("a command that would wait for input is reported as it was written, with its quotes", async () => {
    const runtime = await openedRuntime({ root: folderWith(), sandbox: "none" });
    const { error } = await bash(runtime, `echo 'vim x'; vim "my file" 'b c'`);
    expect(error?.message).toBe(`The command "vim \\"my file\\" 'b c'" is not run: it needs a terminal, and there is none.`);
  });

  test("E12 a credential in the variables of a command is struck out of its output, its error and its progress; other variables are not", async () => {
    const env = { API_TOKEN: "s3cr3t-canary", GREETING: "good-morning" };
    const heard: string[] = [];
    const onEvent: EventListener = (event) => void (event.type === "job-output" && heard.push(event.text));
    const runtime = await openedRuntime({ root: folderWith(), sandbox: "none", env }, { onEvent });
    const command = "echo $GREETING; printf s3cr3t-; sleep 0.1; echo canary; echo $API_TOKEN >&2; exit 3";
    expect(await bash(runtime, command)).toMatchObject({ status: "error", output: "good-morning\n[API_TOKEN]\n[API_TOKEN]\n" });
    heard.length = 0;
    const session = runtime.session();
    const { callId } = await session.execute({ name: "shell::bash", input: { command } }, { background: true });
    await runtime.jobs.wait(callId);
    expect(heard.join("")).toBe("good-morning\n[API_TOKEN]\n[API_TOKEN]\n");
  });

  test("a command that is cancelled, or ignores SIGTERM at the deadline of its call, keeps its output until then", async () => {
    const root = folderWith();
    const runtime = await openedRuntime({ root, sandbox: "none" });
    const controller = new AbortController();
    const command = "trap '' TERM; echo first; sleep 0.02; echo second; : > ready; sleep 30 & wait; wait; sleep 30";
    const call = runtime.execute({ name: "shell::bash", input: { command } }, { signal: controller.signal });
    await expect.poll(() => existsSync(join(root, "ready")), { timeout: 20_000 }).toBe(true);
    await new Promise((resolve) => setTimeout(resolve, 150)); // the output is kept ten times a second
    controller.abort();
    expect(await call).toMatchObject({ status: "cancelled", output: "first\nsecond\n" });
    const hasty = createRuntime({ toolsets: [shellToolset({ root, sandbox: "none" })], approval: { never: ["*"] }, deadlineMs: 700 });
    onTestFinished(async () => void (await hasty.close()));
    await hasty.open();
    expect(await bash(hasty, command)).toMatchObject({ status: "error", output: "first\nsecond\n" });
  });

  test("an exit code other than 0 is an error with the output and the code", async () => {
    const runtime = await openedRuntime({ root: folderWith(), sandbox: "none" });
    const result = await bash(runtime, "echo out; echo err >&2; exit 3");
    expect(result).toMatchObject({
      status: "error",
      output: "out\nerr\n",
      exitCode: 3,
      error: { code: "execution_failed", message: "The command exited with code 3." },
    });
    expect(resultText(result)).toBe("Error (execution_failed): The command exited with code 3.\nout\nerr\n");
  });

  test("F1.3 a successful command has its exit code in the result, and a command killed by a signal has 128 plus its number", async () => {
    const runtime = await openedRuntime({ root: folderWith(), sandbox: "none" });
    expect([(await bash(runtime, "true")).exitCode, (await bash(runtime, "kill -9 $$")).exitCode]).toEqual([0, 137]);
  });

  test("a command that times out ends with its output so far and the exit code -1", async () => {
    const runtime = await openedRuntime({ root: folderWith(), sandbox: "none" });
    const result = await bash(runtime, "echo first; sleep 60; echo last", 0.3);
    expect(result).toMatchObject({
      status: "error",
      output: "first\n",
      exitCode: -1,
      error: { message: "The command was stopped: it took more than 0.3 s." },
    });
  });

  testInCI("a command in a call with little time left is run, and ended in time to answer with its output", async () => {
    const { tools = [], ...shell } = shellToolset({ root: folderWith(), sandbox: "none" });
    const limited = { ...shell, tools: tools.map((tool) => ({ ...tool, timeoutMs: 3_400 })) };
    await using runtime = createRuntime({ toolsets: [limited], approval: { never: ["*"] } });
    await runtime.open();
    expect(await bash(runtime, "sleep 0.2; echo done")).toMatchObject({ status: "ok", output: "done\n" });
    expect(await bash(runtime, "echo begun; sleep 30")).toMatchObject({
      status: "error",
      exitCode: -1,
      output: "begun\n",
      error: { message: expect.stringMatching(/^The command was stopped: it took more than 2\.\d s\.$/u) },
    });
  });

  testInCI("a command that ignores SIGTERM in a call with little time left is killed in time to answer with its output", async () => {
    const { tools = [], ...shell } = shellToolset({ root: folderWith(), sandbox: "none" });
    const limited = { ...shell, tools: tools.map((tool) => ({ ...tool, timeoutMs: 6_000 })) };
    await using runtime = createRuntime({ toolsets: [limited], approval: { never: ["*"] } });
    await runtime.open();
    expect(await bash(runtime, "trap '' TERM; echo begun; while :; do sleep 0.1; done")).toMatchObject({
      status: "error",
      exitCode: -1,
      output: "begun\n",
    });
  });

  test("a command that times out gets SIGTERM first, so that it can end cleanly", async () => {
    const runtime = await openedRuntime({ root: folderWith(), sandbox: "none" });
    const result = await bash(runtime, "trap 'echo saved; exit' TERM; echo ready; while :; do sleep 0.05; done", 0.4);
    expect(result.output).toMatch(/^ready\n(?:Terminated\n)?saved\n$/u);
  });

  test("a shell that a model asks for and that is missing is its mistake, and does not keep others from the usual shell", async () => {
    const root = folderWith();
    const runtime = await openedRuntime({ root, sandbox: "none", shell: "/bin/sh", env: { PATH: root } });
    const asked = { name: "shell::bash", input: { command: "echo x", shell: "zsh" } };
    for (let n = 0; n < 8; n++)
      expect((await runtime.execute(asked)).error).toMatchObject({ code: "invalid_input", hint: "Leave out shell for the usual one." });
    expect((await bash(runtime, "echo x")).output).toBe("x\n");
  });

  test("a NUL character, a missing shell, a missing folder and other invalid options are reported", async () => {
    const root = folderWith();
    const runtime = await openedRuntime({ root, sandbox: "none", shell: "no-such-shell" });
    expect((await bash(runtime, "echo x")).error?.message).toBe('There is no shell "no-such-shell" here.');
    const nul = await runtime.execute({ name: "shell::bash", input: { command: "echo \0", shell: "sh" } });
    expect(nul.error).toMatchObject({ code: "invalid_input", outcome: "not_started" });
    expect(() => shellToolset({ root: join(root, "none") })).toThrow(/^root: ".*none" cannot be used: it does not exist\.$/u);
    expect(() => shellToolset({ root, sandbox: "docker" as "none" })).toThrow(
      'The sandbox "docker" is unknown. Use "bubblewrap" or "none".',
    );
    expect(() => shellToolset({ root: "/" })).toThrow("root: the whole file system cannot be the workspace of a sandbox.");
    expect(() => shellToolset({ root, env: { "a b": "" } })).toThrow('env: "a b" is not the name of a variable.');
  });
});

test("without bubblewrap the error says what is missing, and no command runs", async () => {
  const path = process.env["PATH"];
  onTestFinished(() => void (process.env["PATH"] = path));
  process.env["PATH"] = "/nowhere";
  const runtime = createRuntime({ toolsets: [shellToolset({ root: folderWith() })], approval: { never: ["*"] } });
  onTestFinished(async () => void (await runtime.close()));
  const { failed } = await runtime.open();
  const error = failed[0]?.error;
  expect([error?.code, error?.message, error?.operatorHint]).toEqual([
    "unavailable",
    expect.stringMatching(/needs bubblewrap, but "bwrap" was not found|needs Linux and bubblewrap/u),
    expect.stringMatching(/sandbox = "none"/u),
  ]);
  expect((await bash(runtime, "echo x")).error?.code).toBe("unavailable");
});

test("without Python the error says what to install", async () => {
  const runtime = createRuntime({ toolsets: [pythonToolset({ root: folderWith(), sandbox: "none", python: "python-of-nobody" })] });
  onTestFinished(async () => void (await runtime.close()));
  const { failed } = await runtime.open();
  expect([failed[0]?.error.message, failed[0]?.error.operatorHint]).toEqual([
    'There is no Python "python-of-nobody" here: it was not found.',
    expect.stringContaining("Install Python"),
  ]);
});

test("G10 a command gets few environment variables, and those of the env option", async () => {
  process.env["HAFT_TEST_SECRET"] = "hush";
  const runtime = await openedRuntime({ root: folderWith(), sandbox: "none", env: { COLOUR: "blue" } });
  const { output } = await bash(runtime, "env");
  expect([String(output).includes("hush"), String(output).includes("COLOUR=blue")]).toEqual([false, true]);
});

test("G06 the syntax of a command is interpreted by its shell only", async () => {
  const root = folderWith({ "a b.txt": "x" });
  const runtime = await openedRuntime({ root, sandbox: "none" });
  expect((await bash(runtime, "cat 'a b.txt'; echo $(echo y) `echo z` \"$HOME\" | tr a-z A-Z")).output).toMatch(/^xY Z \//u);
});

test("every command needs approval, and a simulation does not run it", async () => {
  const asked: unknown[] = [];
  const approve = ({ input }: ApprovalRequest) => {
    asked.push(input);
    return "deny" as const;
  };
  const runtime = createRuntime({ toolsets: [shellToolset({ root: folderWith(), sandbox: "none" })], approval: { approve } });
  onTestFinished(async () => void (await runtime.close()));
  await runtime.open();
  expect([(await bash(runtime, "ls")).error?.code, asked]).toEqual(["approval_denied", [{ command: "ls" }]]);
  const permissive = await openedRuntime({ root: folderWith(), sandbox: "none" });
  const simulated = await permissive.session().simulate({ name: "shell::bash", input: { command: "ls" } });
  expect(simulated.results[0]?.error?.code).toBe("not_simulatable");
});

describe("a command as a background job", () => {
  test("F1.26 has output that can be read while it runs, and leaves no process when it is cancelled", async () => {
    const heard = Promise.withResolvers<void>();
    const onEvent = (event: RuntimeEvent) => {
      if (event.type === "job-output") heard.resolve();
    };
    const runtime = await openedRuntime({ root: folderWith(), sandbox: "none" }, { onEvent });
    const seconds = String(300_000_000 + process.pid);
    const command = `echo begun; setsid sleep ${seconds} & sleep ${seconds}; echo`;
    const started = await runtime.session().execute({ name: "shell::bash", input: { command } }, { background: true });
    expect(started.status).toBe("pending");
    await heard.promise;
    expect(runtime.jobs.read(started.callId, {}).text).toBe("begun\n");
    runtime.jobs.cancel(started.callId, "enough");
    expect((await runtime.jobs.wait(started.callId)).state).toBe("cancelled");
    await runtime.close(); // waits for what was abandoned
    expect(isRunning(`sleep ${seconds}`)).toBe(false);
  });
});

describe.skipIf(!HAS_SANDBOX)(`a command in the sandbox${SANDBOX}`, () => {
  test("can change the workspace, and its effects name the workspace's files", async () => {
    const root = folderWith({ "a.txt": "one" });
    const runtime = await openedRuntime({ root });
    const result = await bash(runtime, "cat a.txt; echo two > b.txt; pwd");
    expect([result.output, readFileSync(join(root, "b.txt"), "utf8")]).toEqual([`one${root}\n`, "two\n"]);
    expect(runtime.registry.get("shell::bash")?.tool.effects).toEqual({
      reads: [`file:${root}`],
      writes: [`file:${root}`],
      external: false,
      destructive: true,
    });
  });

  test("G04 cannot write sensitive files or read credentials, unless allowSensitive permits it; new ones are reported", async () => {
    const files = { ".env": "A=1", "package.json": "{}", "ok.txt": "" };
    const root = folderWith(files);
    const command = "cat .env; echo x >> package.json; echo x >> ok.txt; mkdir .vscode";
    const strict = await bash(await openedRuntime({ root }), command);
    expect(String(strict.output)).toMatch(
      /\.env: Permission denied\n.*package\.json: Read-only file system\n\n\[Files were created .*: \.vscode\]$/u,
    );
    const open = await bash(await openedRuntime({ root, allowSensitive: ["**"] }), "cat .env; echo x >> package.json");
    expect([open.output, readFileSync(join(root, "package.json"), "utf8")]).toEqual(["A=1", "{}x\n"]);
  });

  test("can read and write the folders of the options read and write", async () => {
    const data = folderWith({ "data.txt": "numbers" }, "/var/tmp");
    const out = folderWith({}, "/var/tmp");
    const runtime = await openedRuntime({ root: folderWith(), read: [data], write: [out] });
    const result = await bash(runtime, `cat ${data}/data.txt; echo x > ${out}/made; echo x > ${data}/made`);
    expect([result.output, readFileSync(join(out, "made"), "utf8")]).toEqual([
      expect.stringMatching(/^numbers.*made: Read-only file system\n$/su),
      "x\n",
    ]);
  });

  test("cannot create files in /dev or in hidden folders, where they would use memory without a limit", async () => {
    const runtime = await openedRuntime({ root: folderWith({ ".ssh/id_rsa": "secret" }) });
    const { output } = await bash(runtime, "chmod 700 .ssh; cat .ssh/id_rsa; echo x > .ssh/made; echo x > /dev/made; echo x > /dev/null");
    expect(output).toMatch(/\.ssh.*Read-only file system\n(?:.*\n)*.*\/dev\/made: Read-only file system\n/u);
    expect(output).not.toContain("secret");
  });

  test.skipIf(!HAS_PYTHON || !inCI)(`F1.64 python runs code and files with their arguments ${IN_CI}`, async () => {
    const root = folderWith({ "sum.py": "import sys\nprint(sum(map(int, sys.argv[1:])))\n" });
    const runtime = await openedRuntime({ root }, { python: true });
    const run = async (input: object) => await runtime.execute({ name: "python::python", input });
    expect((await run({ code: "import json; print(json.dumps([1]))" })).output).toBe("[1]\n");
    expect((await run({ file: "sum.py", args: ["1", "2"] })).output).toBe("3\n");
    expect((await run({ code: "1 / 0" })).error?.message).toBe("The program exited with code 1.");
    expect((await run({ code: "input()" })).output).toMatch(/EOFError/u);
    for (const input of [{}, { code: "1", file: "a" }]) expect((await run(input)).error?.code).toBe("invalid_input");
  });

  test.skipIf(spawnSync("git", ["--version"]).status !== 0)(
    "can read the git repository, and change it where allowSensitive permits it",
    async () => {
      const root = folderWith({ "a.txt": "one\n" });
      for (const args of [
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first"],
      ])
        spawnSync("git", args, { cwd: root });
      writeFileSync(join(root, "a.txt"), "two\n");
      const commit = "git status --short; git -c user.name=a -c user.email=a@b commit -qam second; git log --oneline | wc -l";
      expect((await bash(await openedRuntime({ root }), commit)).output).toMatch(/^ M a\.txt\n.*Read-only file system\n1\n$/su);
      expect((await bash(await openedRuntime({ root, allowSensitive: [".git/**"] }), commit)).output).toBe(" M a.txt\n2\n");
    },
  );
});
