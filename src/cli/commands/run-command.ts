/** `haft run`: plays a conversation through the tools, and prints what happens. */
import type { UsageMeter } from "../../model/usage-meter.ts";
import { ToolError } from "../../core/error.ts";
import type { Store } from "../../core/store/store.ts";
import { plural } from "../../core/base/wording.ts";
import type { RuntimeSession } from "../../runtime/runtime-session.ts";
import type { SessionDiff } from "../../session/session-diff.ts";
import { memoryStore } from "../../store/memory-store.ts";
import { copySession, openStoredSession } from "../open/open-session.ts";
import { withCallRecorder, type CallRecorder } from "../input/call-recorder.ts";
import type { CommandBody, CommandContext } from "../command.ts";
import { readConversation, type ConversationLine } from "../input/read-conversation.ts";
import { withRuntime, type OpenRuntime, type WithRuntimeOptions } from "../open/open-runtime.ts";
import { findStore, withStore } from "../open/open-store.ts";
import { ConversationPlayer } from "../conversation-player.ts";
import { printSimulation } from "../print/print-simulation.ts";
import { readInput } from "../input/read-input.ts";
import { chooseModel, type ChosenModel } from "./chat/choose-model.ts";
import { Chat } from "./chat/chat.ts";
import { safeName } from "../terminal/terminal-text.ts";

export const runCommand: CommandBody = {
  details: [
    "The conversation is JSON Lines, from a file or, with -, from standard input:",
    "",
    '  {"role": "user", "content": "What do the notes say?"}',
    '  {"role": "assistant", "calls": [{"name": "files::read", "input": {…}}]}',
    '  {"role": "approver", "answer": "allow-once", "afterMs": 500}',
    "",
    "The calls of one line run together. Lines of the roles user, assistant and",
    "system are shown, lines of the role tool are ignored. An approver line",
    "answers the next call that asks for approval: allow-once, allow-always or deny.",
    "",
    "Where a store is named, by --store or in the configuration, what is said, called",
    "and answered is kept there as a session, under the id of --session or a new",
    "one. A session that exists is continued; calls of it that a crash had",
    "interrupted are ended first, as haft sessions resume does.",
    "",
    "With --model, or --prompt, a model answers what the user lines say: there are no",
    "assistant lines then, and the calls are those that the model makes. The keys of",
    "providers and the limits of the loop are those of haft chat. The first message",
    "that the model did not answer ends the run, with an exit code that says why.",
    "",
    "With --simulate all of it is tried on a branch that is dropped: reads run, every",
    "other call is answered as [simulation] in the configuration says, or made up",
    "from its output schema, and the end shows what would change.",
    "",
    "With --record live calls are written to a file; with --replay such a file",
    "answers them, and nothing runs. With --replay and --simulate, calls that the",
    "recording does not have are simulated.",
    "",
    "A bad line is refused before anything runs. Exits with 0 when the conversation",
    "was played to its end, whatever the tools answered. With --json each result is",
    "one line, in call order, that of a background job again when it has ended;",
    "nothing else goes to standard output, except the summary of a simulation, and",
    "the error that ends a run early. Jobs are waited for at the end.",
  ],
  args: [0, 1],
  options: [
    "config",
    "force",
    "model",
    "no-background",
    "reasoning-effort",
    "nearest",
    "prompt",
    "record",
    "replay",
    "seed",
    "session",
    "simulate",
    "store",
    "system",
    "watch",
    "yes",
  ],
  examples: [
    "haft run conversation.jsonl",
    "haft run conversation.jsonl --json | jq .status",
    "haft run - --yes < conversation.jsonl",
    "haft run conversation.jsonl --session travel --store haft.db",
    "haft run conversation.jsonl --simulate --seed 7",
    "haft run conversation.jsonl --record calls.jsonl",
    "haft run conversation.jsonl --replay calls.jsonl",
    'haft run --model anthropic/claude-sonnet-5 --prompt "What do the notes say?"',
  ],
  async run(context) {
    const { options } = context;
    const play = new ConversationPlayer(context, await readLines(context));
    const work = async (recorder: CallRecorder | undefined): Promise<number> => {
      const diff = await (options.simulate ? simulate(context, play, recorder) : playLive(context, play, recorder));
      play.printSummary();
      if (diff !== undefined) printSimulation(context, diff);
      context.signal.throwIfAborted();
      return play.exitCode;
    };
    return await withCallRecorder(context, work, [{ what: "the conversation", path: context.args[0] }]);
  },
};

/** Whether a model makes the calls, and not the file. */
function usesModel({ options }: CommandContext): boolean {
  return options.model !== undefined || options.prompt !== undefined;
}

async function readLines(context: CommandContext): Promise<readonly ConversationLine[]> {
  const [file] = context.args;
  const { prompt } = context.options;
  if (prompt !== undefined && file !== undefined)
    throw new ToolError("invalid_argument", `haft run takes a file or --prompt, not both.`, {
      hint: `Leave out ${JSON.stringify(file)} or --prompt.`,
    });
  if (prompt !== undefined) return [{ role: "user", content: prompt }];
  if (file === undefined)
    throw new ToolError("invalid_argument", "haft run needs a file, - for standard input, or --prompt.", {
      hint: "For example: haft run conversation.jsonl",
    });
  const name = file === "-" ? "standard input" : file;
  const lines = readConversation(await readInput(context, file), name);
  if (usesModel(context) && lines.some(({ role }) => role === "assistant" || role === "tool"))
    throw new ToolError(
      "invalid_call",
      `${name} has lines of the role assistant or tool, and with --model the model writes those; nothing was run.`,
      {
        hint: "Leave them out, or leave out --model to play the calls as written.",
      },
    );
  return lines;
}

async function playLive(context: CommandContext, play: ConversationPlayer, recorder: CallRecorder | undefined): Promise<undefined> {
  let store: Store | undefined;
  const { model, otherMeters, options } = runOptions(context, play, recorder);
  const findRunStore = (config: OpenRuntime["config"]): Store | undefined => (store = findStore(context, config));
  await withRuntime(context, { ...options, store: findRunStore }, async (open) => {
    printOpened(context, play, open);
    const printer = context.options.json ? undefined : play.printer;
    const session = await openStoredSession(context, { open, store, printer });
    const chat = createChat(context, { play, open, session, isStored: store !== undefined, model, otherMeters });
    await play.run({ session, registry: open.runtime.registry, jobs: open.runtime.jobs, storesMessages: store !== undefined, chat });
  });
}

/** Returns the options of the runtime, the same for a live run and a simulation, and the models that are asked. */
function runOptions(context: CommandContext, play: ConversationPlayer, recorder: CallRecorder | undefined) {
  const model = createModelChooser(context);
  const otherMeters: UsageMeter[] = [];
  const options: WithRuntimeOptions = {
    recorder,
    onMeter: (meter) => void otherMeters.push(meter),
    onEvent: play.handleEvent,
    approve: play.approver,
    manual: true,
    onConfig: (config) => void model(config),
    model,
  };
  return { model, otherMeters, options };
}

interface RunContext {
  readonly play: ConversationPlayer;
  readonly open: OpenRuntime;
}

interface ChatContext extends RunContext {
  readonly session: RuntimeSession;
  readonly isStored: boolean;
  readonly model: ReturnType<typeof createModelChooser>;
  readonly otherMeters: readonly UsageMeter[];
}

/** Returns a function for the model that makes the calls. It is built once, before anything is started; the function throws as `chooseModel` does. */
function createModelChooser(context: CommandContext): (config: OpenRuntime["config"]) => ChosenModel | undefined {
  let chosen: ChosenModel | undefined;
  return (config) => (chosen ??= usesModel(context) ? chooseModel(context, config) : undefined);
}

function createChat(context: CommandContext, { play, open: { config, runtime }, model, ...options }: ChatContext): Chat | undefined {
  const chosen = model(config);
  if (chosen === undefined) return undefined;
  return new Chat({ context, chosen, config, runtime, ...options, events: play.printer, onSimulatedEvent: play.handleEvent });
}

async function simulate(context: CommandContext, play: ConversationPlayer, recorder: CallRecorder | undefined): Promise<SessionDiff> {
  const store = memoryStore();
  const { model, otherMeters, options } = runOptions(context, play, recorder);
  return withRuntime(context, { ...options, store: () => store }, async (open) => {
    printOpened(context, play, open);
    const base = await openSimulationBase(context, { play, open, store });
    const branch = base.fork({ simulated: true });
    try {
      const chat = createChat(context, { play, open, session: branch, isStored: false, model, otherMeters });
      await play.run({ session: branch, registry: open.runtime.registry, chat });
      return branch.diff();
    } finally {
      await branch.close();
    }
  });
}

/** Returns the session that the simulation branches from: a copy of the session, which may be open elsewhere, or a new one if there is none. */
async function openSimulationBase(
  context: CommandContext,
  { play, open: { runtime, config }, store }: RunContext & { readonly store: Store },
): Promise<RuntimeSession> {
  const sessionId = context.options.session;
  if (sessionId === undefined) return runtime.session();
  const isThere = await withStore(context, { readOnly: true, config }, (from) => copySession(context, sessionId, { from, to: store })).then(
    () => true,
    (thrown: unknown) => {
      if (ToolError.fromUnknown(thrown).code === "not_found") return false;
      throw thrown;
    },
  );
  if (!isThere) return runtime.session(sessionId);
  const session = await runtime.resume(sessionId, { interrupted: "settle" });
  if (!context.options.json)
    play.printer.printAside(
      `simulation: continues after the ${plural(session.length, "event")} of session ${safeName(sessionId)}, which is not changed`,
    );
  return session;
}

function printOpened({ options }: CommandContext, { printer }: ConversationPlayer, { runtime, report }: OpenRuntime): void {
  if (options.json) return;
  const sizes = report.opened.map((name) => `${safeName(name)} (${plural(runtime.registry.list(name).length, "tool")})`);
  printer.printAside(`open: ${sizes.join(", ") || "no toolsets"}`);
}
