/** Makes many conversations over published tools and judges every one: see `--help`. */
import { parseArgs } from "node:util";
import { exampleEngine } from "../src/engine/example.ts";
import { generateConversations } from "../src/generate/conversations/generate-conversations.ts";
import type { SampleKind } from "../src/generate/conversations/conversation-plan.ts";
import { createRuntime } from "../src/runtime/runtime.ts";
import { judgeLine } from "../test/generate/conversations/judge-line.ts";
import { CASES, HAS_CASES, publishedToolsets } from "../test/generate/conversations/published-tools.ts";

const HELP = `Makes sampled conversations over the tools of ToolBench, API-Bank and fms-dgt, and judges each from its line alone: ids from
nowhere, references without a value, claims of answers that no result has, turns without an answer. Skipped where the tools are absent.

  node --conditions=haft-source scripts/generate-at-scale.ts [options]

  --count N     how many conversations (10000)
  --calls N     calls of each (5)
  --seed S      decides all (1)
  --sample K    chain, random or neighbour (chain)
  --show N      print so many of them
  --every N     of those, every Nth (250)
`;

const { values } = parseArgs({
  options: {
    count: { type: "string", default: "10000" },
    calls: { type: "string", default: "5" },
    seed: { type: "string", default: "1" },
    sample: { type: "string", default: "chain" },
    show: { type: "string", default: "0" },
    every: { type: "string", default: "250" },
    help: { type: "boolean", default: false },
  },
});

/** Of the wrong ones, so many are printed. */
const MAX_WRONG = 5;

/** How often each sentence of the answers was said. */
class Sentences {
  readonly #counts = new Map<string, number>();
  #all = 0;

  add(text: string): void {
    for (const sentence of text.split(/(?<=[.!?])\s+(?=[A-Z])/u)) {
      this.#all++;
      this.#counts.set(sentence, (this.#counts.get(sentence) ?? 0) + 1);
    }
  }

  print(): void {
    const most = [...this.#counts].sort(([, one], [, other]) => other - one).slice(0, MAX_WRONG);
    console.log(`${this.#all} sentences, ${this.#counts.size} different; the commonest, and one in how many:`);
    for (const [sentence, count] of most) console.log(`  ${count}x, 1 in ${Math.floor(this.#all / count)}: ${sentence.slice(0, 120)}`);
  }
}

if (values.help) console.log(HELP);
else if (!HAS_CASES) console.log(`Skipped: the published tools are not in ${CASES}; HAFT_CASES names another folder.`);
else await judgeAll();

async function judgeAll(): Promise<void> {
  const toolsets = publishedToolsets();
  const answers = { engines: { example: exampleEngine({ seed: 1 }) }, rules: [{ tools: "*", from: "example" as const }] };
  const runtime = createRuntime({ toolsets, answers, ports: { log: { debug() {}, warn() {} } } });
  const [count, calls, show, every] = [values.count, values.calls, values.show, values.every].map(Number) as [
    number,
    number,
    number,
    number,
  ]; // four of four
  const sentences = new Sentences();
  const found = { danglingIds: 0, unresolved: 0, unfounded: 0, unanswered: 0, openEnds: 0, bytes: 0 };
  let number = 0;
  let shown = 0;
  const write = async (line: string): Promise<void> => {
    const conversation = JSON.parse(line);
    const judged = judgeLine(conversation);
    found.bytes += line.length;
    for (const { role, content } of conversation.messages) if (role === "assistant" && content !== undefined) sentences.add(content);
    found.danglingIds += judged.danglingIds.length;
    found.unresolved += judged.unresolved.length;
    found.unfounded += judged.unfounded.length;
    found.unanswered += judged.unanswered;
    if (!judged.endsWithAnswer) found.openEnds++;
    const isWrong =
      conversation.problems !== undefined ||
      judged.danglingIds.length + judged.unresolved.length + judged.unfounded.length + judged.unanswered > 0;
    if (isWrong && shown++ < MAX_WRONG)
      console.log(`WRONG ${conversation.id}`, JSON.stringify([conversation.problems, judged]), textOf(conversation));
    else if (number % every === 0 && number / every < show) console.log(textOf(conversation));
    number++;
  };
  const plan = { kind: "sampled", count, calls, sample: values.sample as SampleKind } as const; // refused by the plan's check otherwise
  const startedAt = performance.now();
  const summary = await generateConversations({ runtime, plan, seed: values.seed, out: { write }, concurrency: 1 });
  const totalMs = performance.now() - startedAt;
  await runtime.close();
  const { durationMs: _durationMs, ...counts } = summary;
  console.log(counts);
  console.log(found);
  sentences.print();
  const memory = Math.ceil((process.resourceUsage().maxRSS * 1_024) / 1e6);
  console.log(`${number} conversations in ${(totalMs / 1_000).toFixed(1)} s, judged as they came; at most ${memory} MB of memory`);
  if (found.danglingIds + found.unresolved + found.unfounded + found.unanswered + found.openEnds > 0) process.exitCode = 1;
}

interface Spoken {
  readonly id: string;
  readonly messages: readonly {
    readonly role: string;
    readonly content?: string;
    readonly calls?: readonly { readonly name: string; readonly input: unknown }[];
    readonly output?: unknown;
    readonly error?: { readonly message: string };
  }[];
}

function textOf({ id, messages }: Spoken): string {
  const lines = messages.map(({ role, content, calls = [], output, error }) => {
    if (role === "user") return `U: ${content}`;
    if (role === "assistant")
      return calls.length > 0 ? `   > ${calls.map(({ name, input }) => `${name} ${JSON.stringify(input)}`).join(" + ")}` : `A: ${content}`;
    return `   = ${(JSON.stringify(output) ?? error?.message ?? "").slice(0, 300)}`;
  });
  return [`--- ${id}`, ...lines].join("\n");
}
