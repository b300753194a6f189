/** The description of generated data that is written next to it, in the format of Hugging Face dataset cards: a YAML head, then Markdown. */
import { basename, join, parse } from "node:path";
import { plural } from "../../../core/base/wording.ts";
import { ToolError } from "../../../core/error.ts";
import { CHECK_NAMES, CHECK_LABELS } from "../../../generate/conversations/check-conversation.ts";
import type { ConversationPlan } from "../../../generate/conversations/conversation-plan.ts";
import type { GenerationSummary } from "../../../generate/conversations/generation-summary.ts";
import type { TrajectoryFormat } from "../../../generate/conversations/trajectory-formats.ts";
import { readTextFile } from "../../../documents/read-text-file.ts";
import { writeFileAtomically } from "../../input/write-file.ts";
import { formatNumber } from "./generation-text.ts";
import { systemErrorCode } from "../../../core/base/system-error-code.ts";

/** Marks a card that this command wrote, and may replace. */
const MARK = "# Written by haft generate, and again whenever it continues. Copy it under another name to change it.";
const MAX_TOOLS = 50;
const MAX_CARD_BYTES = 1024 * 1024;

export interface CardDetails {
  /** The file with the conversations. */
  readonly out: string;
  readonly format: TrajectoryFormat;
  readonly kind: ConversationPlan["kind"];
  /** Whether messages of the assistant have a `weight`. @default false */
  readonly weights?: boolean;
}

/** Returns the path of the card: `train.card.md` for `train.jsonl`. */
export function cardFileOf(out: string): string {
  const { dir, name } = parse(out);
  return join(dir, `${name}.card.md`);
}

/** Checks that the card may be written. @throws ToolError `invalid_argument` if its name is taken by another file, or by the card of another file */
export async function checkCardFile(out: string): Promise<void> {
  const path = cardFileOf(out);
  const hint = "Move it away, or choose another name for --out.";
  const card = readTextFile({ path, what: "dataset card", code: "invalid_argument", maxBytes: MAX_CARD_BYTES, hint });
  const text = await card.catch((thrown: unknown) => {
    if (thrown instanceof ToolError && systemErrorCode(thrown.cause) === "ENOENT") return undefined;
    throw thrown;
  });
  if (text === undefined) return;
  const isOurs = text.split("\n", 2)[1] === MARK;
  if (isOurs && text.includes(`\n${pathLine(basename(out))}\n`)) return;
  const fault = isOurs ? `describes another file than ${basename(out)}` : "is not a card that haft generate wrote";
  throw new ToolError("invalid_argument", `${path} already exists, and ${fault}.`, { hint });
}

function pathLine(name: string): string {
  return `        path: ${JSON.stringify(name)}`;
}

export async function writeCard(summary: GenerationSummary, details: CardDetails): Promise<void> {
  const text = datasetCard(summary, details);
  await writeFileAtomically(cardFileOf(details.out), [text], { force: true, isPublic: true, signal: new AbortController().signal });
}

export function datasetCard(summary: GenerationSummary, details: CardDetails): string {
  const { dataset, split } = summary;
  const name = parse(details.out).name;
  const files = [
    { part: "train", path: basename(details.out), count: split?.train ?? dataset.conversations },
    ...(split === undefined ? [] : [{ part: "test", path: basename(split.testFile), count: split.test }]),
  ];
  const { conversations, calls } = dataset;
  const made = `${plural(conversations, "conversation")} with ${plural(calls, "tool call")}, made by \`haft generate\`.`;
  const lines = [
    "---",
    MARK,
    `pretty_name: ${JSON.stringify(name)}`,
    `tags: [tool-use, function-calling${details.kind === "recorded" ? "" : ", synthetic"}]`,
    "configs:",
    "  - config_name: default",
    "    data_files:",
    ...files.flatMap(({ part, path }) => [`      - split: ${part}`, pathLine(path)]),
    "---",
    "",
    `# ${name}`,
    "",
    `${made} One conversation per line, format \`${details.format}\`.`,
    "",
    ...table(
      ["file", "conversations"],
      files.map(({ path, count }) => [code(path), formatNumber(count)]),
    ),
    ...answerLines(dataset),
    ...originLines(summary, details),
    ...LICENSE,
  ];
  return lines.join("\n");
}

function answerLines({ answers, statuses, tools, parallelMessages, checks, failed }: GenerationSummary["dataset"]): readonly string[] {
  const called = Object.entries(tools);
  const shown = called.slice(0, MAX_TOOLS).map(([tool, count]) => [code(tool), formatNumber(count)]);
  const found = CHECK_NAMES.map((name) => [CHECK_LABELS[name][1], formatNumber(checks[name])]);
  return [
    "",
    "## Answers",
    "",
    "Where the answers of tools came from. An origin other than `live` means that no real system answered.",
    "",
    ...table(["source", "answers"], countRows(answers)),
    "",
    ...table(["status", "calls"], countRows(statuses)),
    "",
    "## Tools",
    "",
    ...table(["tool", "calls"], shown),
    ...(called.length > MAX_TOOLS ? ["", `And ${called.length - MAX_TOOLS} more.`] : []),
    "",
    "## Checks",
    "",
    ...table(
      ["found", "count"],
      [
        ...found,
        ["conversations that broke off with an error", formatNumber(failed)],
        ["messages with several calls", formatNumber(parallelMessages)],
      ],
    ),
  ];
}

function originLines(
  { dataset: { seed, plan }, notes, writing }: GenerationSummary,
  { format, kind, weights = false }: CardDetails,
): readonly string[] {
  const settings = [
    ["plan", `${kind}, fingerprint ${code(plan)}`],
    ["seed", code(seed)],
    ["format", code(format)],
    ["texts", describeTextSource(kind, writing !== undefined)],
    ...(weights ? [WEIGHTS] : []),
  ];
  const remarks = notes.map((note) => `- ${note}`);
  return ["", "## How it was made", "", ...table(["setting", "value"], settings), ...(remarks.length === 0 ? [] : ["", ...remarks])];
}

const WEIGHTS = [
  "weights",
  "`weight` is 0 in a message with a call that was refused because of its name or input, or whose input had to be repaired: leave it out of the loss; else 1",
];

const LICENSE = [
  "",
  "## License",
  "",
  "Not stated. The lines hold names, descriptions and schemas of the tools, and answers that are live or recorded hold data of third parties: look",
  "up their licenses, and add `license:` to the head of this page where it is published.",
  "",
];

function describeTextSource(kind: ConversationPlan["kind"], isWrittenByModel: boolean): string {
  if (kind === "recorded") return isWrittenByModel ? "recorded sessions; missing last answers by a model" : "recorded sessions";
  if (kind === "played") return "users: templates; assistant: a model";
  if (isWrittenByModel) return "a model, held to the values of calls and results";
  return kind === "scripted" ? "templates, answers by code where those have none" : "code";
}

function countRows(counts: Readonly<Record<string, number>>): readonly (readonly string[])[] {
  return Object.entries(counts).map(([word, count]) => [cell(word), formatNumber(count)]);
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`);
}

function code(text: string): string {
  return `\`${cell(text)}\``;
}

/** Escapes a table cell: a name may contain anything, including table delimiters. */
function cell(text: string): string {
  return text.replaceAll(/[|`\p{Cc}]+/gu, " ");
}
