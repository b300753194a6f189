/** The files of the guide for many machines are whole: they are read, and their commands, options, ports and paths exist. */
import { readFileSync, readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { API, OPERATION_IDS } from "../../src/server/api.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { folderWith, haft } from "../cli/run-haft.ts";

const GUIDE = readFileSync("docs/guides/run-on-many-machines.md", "utf8");

function blocks(language: string): readonly string[] {
  return [...GUIDE.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)\n\`\`\`$`, "gmsu"))].map(([, text = ""]) => text);
}

const COMPOSE = blocks("yaml").find((text) => text.startsWith("# compose.yaml")) ?? "";
const KUBERNETES = blocks("yaml").find((text) => text.startsWith("# haft.yaml")) ?? "";
const UNITS = blocks("ini");

interface Service {
  readonly build?: string;
  readonly command?: readonly string[];
  readonly depends_on?: object;
  readonly environment?: object;
}

/** Each command line of `haft` in the guide, as words. */
function commandLines(): readonly (readonly string[])[] {
  const compose: readonly Service[] = Object.values(parse(COMPOSE).services);
  const services = compose.filter(({ build }) => build !== undefined).map(({ command = [] }) => command);
  const pods = parseAllDocuments(KUBERNETES)
    .map((document) => document.toJS().spec?.template?.spec)
    .filter((spec) => spec !== undefined)
    .flatMap(({ containers }) => containers.map(({ args }: { readonly args: readonly string[] }) => args));
  const starts = UNITS.map((unit) => /^ExecStart=\/srv\/haft\/node_modules\/\.bin\/(.*)$/mu.exec(unit)?.[1] ?? "");
  const shells = blocks("sh").flatMap((text) => text.split("\n"));
  const written = [...services.flat().filter((text) => text.startsWith("exec ")), ...starts, ...shells];
  const lines = written
    .map((text) => text.replace(/^exec node_modules\/\.bin\//u, "").split(/\s+/u))
    .filter(([program]) => program === "haft");
  return [
    ...lines.map(([, ...words]) => words),
    ...[...services, ...pods].filter(([first]) => first !== undefined && !first.startsWith("exec ")),
  ];
}

test("issue 21.7 every command of the manifests is a haft command and accepts the given options", async () => {
  const lines = commandLines();
  const folder = folderWith({});
  expect(lines.length).toBeGreaterThanOrEqual(10);
  const { stdout: known } = await haft(["--help"], { folder });
  for (const words of lines) {
    const [command = "", next = ""] = words;
    if (command === "worker" && !/^ {2}worker\b/mu.test(known)) continue;
    const name = /^[a-z]+$/u.test(next) ? [command, next] : [command];
    const help = await haft([...name, "--help"], { folder });
    expect([name, help.exitCode]).toEqual([name, 0]);
    for (const word of words) {
      const [option = ""] = word.split("=");
      if (option.startsWith("--"))
        expect({ words, help: help.stdout }).toMatchObject({ help: expect.stringMatching(new RegExp(`${option}\\b`, "u")) });
    }
  }
});

test("issue 21.7 probes, ports and names in the manifests match, and their paths are routes", () => {
  const documents = parseAllDocuments(KUBERNETES).map((document) => document.toJS());
  expect(documents.map(({ kind }) => kind)).toEqual([
    "Job",
    "Deployment",
    "Deployment",
    "Service",
    "PodDisruptionBudget",
    "HorizontalPodAutoscaler",
  ]);
  const [, serve, worker, service, budget, autoscaler] = documents;
  const [container] = serve.spec.template.spec.containers;
  const paths: readonly string[] = OPERATION_IDS.map((id) => API[id].path);
  for (const [pod, option] of [
    [container, "port"],
    [worker.spec.template.spec.containers[0], "health-port"],
  ]) {
    for (const probe of ["startupProbe", "livenessProbe", "readinessProbe"]) {
      const { path, port } = pod[probe].httpGet;
      expect(paths).toContain(path);
      expect(pod.ports.map(({ name }: { readonly name: string }) => name)).toContain(port);
    }
    const port = pod.ports[0].containerPort;
    expect(pod.args).toContain(`--${option}=${port}`);
    expect(pod.args).toContain(`--address=http://$(POD_IP):${port}`); // by which the probes reach it
    expect(pod.args).toContainEqual(expect.stringMatching(/^--allowed-host=/u)); // required on 0.0.0.0
  }
  expect(autoscaler.spec.scaleTargetRef).toMatchObject({ kind: serve.kind, name: serve.metadata.name });
  expect(container.resources.requests).toHaveProperty(autoscaler.spec.metrics[0].resource.name); // a share of what was requested
  const port = container.ports[0].containerPort;
  expect(serve.spec.template.metadata.annotations).toMatchObject({ "prometheus.io/port": String(port), "prometheus.io/path": "/metrics" });
  expect(paths).toContain("/metrics");
  expect(service.spec.ports[0].targetPort).toBe(container.ports[0].name);
  for (const { selector } of [service.spec, { selector: budget.spec.selector.matchLabels }, { selector: serve.spec.selector.matchLabels }])
    expect(serve.spec.template.metadata.labels).toMatchObject(selector);
});

test("issue 21.7 services of the compose file depend on existing services, and set the required variables", () => {
  const { services, volumes } = parse(COMPOSE, { merge: true });
  for (const { depends_on: needs = {}, environment = {}, build } of Object.values<Service>(services)) {
    for (const needed of Object.keys(needs)) expect(Object.keys(services)).toContain(needed);
    if (build !== undefined) expect(Object.keys(environment)).toEqual(["DATABASE_URL", "HAFT_TOKEN"]);
  }
  expect(Object.keys(volumes)).toEqual(["db"]);
  expect(services.proxy.command).toContain("serve:7420");
  expect(services.serve.healthcheck.test.join(" ")).toContain("http://127.0.0.1:7420/readyz");
});

test("issue 21.7 the units have systemd's sections and keys, and stop with the signal that drains", () => {
  expect(UNITS).toHaveLength(2);
  for (const unit of UNITS) {
    expect([...unit.matchAll(/^\[(\w+)\]$/gmu)].map(([, section]) => section)).toEqual(["Unit", "Service", "Install"]);
    for (const line of unit.split("\n")) expect(line).toMatch(/^(?:#.*|\[\w+\]|[A-Z][A-Za-z]+=.+|)$/u);
    expect(unit).toContain("KillSignal=SIGTERM");
  }
});

test("no container and no unit starts haft through npx, which exits without it on SIGTERM", () => {
  for (const page of readdirSync("docs/guides")) {
    const text = readFileSync(`docs/guides/${page}`, "utf8");
    expect([page, /(?:ENTRYPOINT|CMD|ExecStart=|exec ).*\bnpx\b.*/u.exec(text)?.[0]]).toEqual([page, undefined]);
  }
});

test("issue 21.7 the configuration in the guide is valid as written", async () => {
  const [first = ""] = blocks("toml");
  const folder = folderWith({ "haft.toml": `${first}\n\n${blocks("toml")[1] ?? ""}\n`, "tools.mjs": "", "scanner.mjs": "" });
  const { config, warnings } = await loadConfig(`${folder}/haft.toml`, {
    environment: { DATABASE_URL: "postgres://haft@db.example/haft" },
  });
  expect(warnings).toEqual([]);
  expect(config.store).toEqual({ url: "postgres://haft@db.example/haft" });
  expect([...config.toolsets].map(([name, { place }]) => [name, place])).toEqual([
    ["shop", undefined],
    ["scanner", "desk"],
  ]);
});
