/** Judges a written conversation from its JSON alone: nothing of the code that made it is asked. */

export interface Judgement {
  readonly danglingIds: readonly string[];
  readonly unresolved: readonly string[];
  /** Numbers, ids and names of answers that no result before them has. */
  readonly unfounded: readonly string[];
  readonly endsWithAnswer: boolean;
  /** Users' turns after which the assistant has said nothing. */
  readonly unanswered: number;
}

interface Line {
  readonly messages: readonly Message[];
  readonly error?: unknown;
}

interface Message {
  readonly role: string;
  readonly content?: string;
  readonly calls?: readonly { readonly name: string; readonly input: unknown }[];
  readonly output?: unknown;
  readonly error?: { readonly message: string };
}

const ID_NAME = /(?:^|_|-)(?:id|ids|uuid|uuids|guid|uid)$|[a-z0-9](?:Id|ID|Ids|IDs|Uuid|UUID|Guid)$/;

export function judgeLine({ messages }: Line): Judgement {
  const danglingIds: string[] = [];
  const unresolved: string[] = [];
  const unfounded: string[] = [];
  let said = "";
  let results = "";
  let lengths = new Set<string>();
  let unanswered = 0;
  let waits = false;
  for (const { role, content = "", calls = [], output, error } of messages) {
    if (role === "user" || role === "system") {
      if (waits && role === "user") unanswered++;
      if (role === "user") waits = true;
      said += `\n${content}`;
    }
    if (/\$\d+[.[]/u.test(content)) unresolved.push(content);
    if (role === "tool") {
      const text = `${scalars(output).join("\n")}\n${error?.message ?? ""}`;
      results += `\n${text}\n${JSON.stringify(output) ?? ""}`;
      lengths = new Set([...lengths, ...lengthsIn(output)]);
    }
    if (role !== "assistant") continue;
    for (const { input } of calls) {
      if (/"\$\d+[.[]/u.test(JSON.stringify(input))) unresolved.push(JSON.stringify(input));
      for (const id of idsIn(input)) if (!has(said, id) && !has(results, id)) danglingIds.push(id);
    }
    if (content === "") continue;
    waits = false;
    for (const claim of claims(content)) if (!has(results, claim) && !lengths.has(claim)) unfounded.push(claim);
  }
  return {
    danglingIds,
    unresolved,
    unfounded,
    unanswered: unanswered + (waits ? 1 : 0),
    endsWithAnswer: messages.at(-1)?.role === "assistant" && messages.at(-1)?.content !== undefined,
  };
}

function has(text: string, part: string): boolean {
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1)) {
    if (!/[\p{L}\p{N}]/u.test(text[at - 1] ?? "") && !/[\p{L}\p{N}]/u.test(text[at + part.length] ?? "")) return true;
  }
  return false;
}

/** Words with a digit, and words written like a name inside a sentence. */
function claims(text: string): readonly string[] {
  const words = text.match(/[\p{L}\p{N}][\p{L}\p{N}._:@/+#-]*/gu) ?? [];
  const found = words.filter((word) => /\d/u.test(word)).map((word) => word.replace(/[._:@/+#-]+$/u, ""));
  const names = text.matchAll(/(?<=[\p{Ll},;(] \(?|\()\p{Lu}[\p{L}'-]+(?![\p{L}\p{N}'_-])/gu);
  for (const [name] of names) if (!LABELS.has(name)) found.push(name);
  return found;
}

/** How names of properties are spelled in sentences. */
const LABELS = new Set("ID,IDs,URL,URLs,URI,UUID,IP,API,IBAN,VAT,SKU,ISBN,GPS,BMI,HTML,JSON,PDF,UTC,CC".split(","));

function scalars(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(scalars);
  if (typeof value === "object" && value !== null) return Object.values(value).flatMap(scalars);
  return value === null || value === undefined ? [] : [String(value).replaceAll(/\s+/gu, " ")];
}

function lengthsIn(value: unknown): readonly string[] {
  if (Array.isArray(value)) return [String(value.length), ...value.flatMap(lengthsIn)];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(lengthsIn) : [];
}

function idsIn(value: unknown, name = ""): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((item) => idsIn(item, name));
  if (typeof value === "object" && value !== null) return Object.entries(value).flatMap(([key, one]) => idsIn(one, key));
  return (typeof value === "string" || typeof value === "number") && value !== "" && ID_NAME.test(name) ? [String(value)] : [];
}
