/** gpt-oss: messages in channels; a call is a message to a function. @see https://cookbook.openai.com/articles/openai-harmony */
import { isJsonObject } from "../../core/json.ts";
import { MarkerSet } from "./marker-set.ts";
import type { CallReader, ReadPlace, TextGrammar } from "./text-grammar.ts";
import type { Reading } from "./text-input.ts";
import { readValue } from "./typed-value.ts";

const HEAD_ENDS = new MarkerSet(["<|message|>", "<|end|>", "<|call|>", "<|return|>", "<|start|>"]);
const BODY_ENDS = new MarkerSet(["<|end|>", "<|call|>", "<|return|>", "<|start|>", "<|channel|>"]);

/** The head of a message that never came: nobody is told of it. */
const UNFINISHED_HEAD = /^\s?(?:assistant\b|(?:analysis|commentary|final)$)[^]{0,128}$/u;

/** Reads messages until one is for the user. */
const message: CallReader = function* (place, mark) {
  let open: string | undefined = mark;
  while (open === "<|start|>" || open === "<|channel|>" || open === "to=") {
    const { text: head, marker } = yield* place.input.textUntil(HEAD_ENDS);
    if (marker === undefined && UNFINISHED_HEAD.test(head)) return true;
    if (marker !== "<|message|>") return false;
    const channel = /(?:^|<\|channel\|>)\s*(\w+)/u.exec(open === "<|channel|>" ? head : head.slice(head.indexOf("<|channel|>")))?.[1];
    const recipient = open === "to=" ? /^[^\s<]+/u.exec(head)?.[0] : /\bto=([^\s<]+)/u.exec(head)?.[1];
    if (recipient !== undefined && recipient !== "assistant") {
      const body: CallBody | undefined = yield* readBody(place, /\bjson\s*$/u.test(head));
      if (body === undefined || !place.accept({ name: recipient.replace(/^functions\./u, ""), input: body.input })) return false;
      open = body.end;
    } else if (channel === "analysis") {
      open = yield* place.input.until(BODY_ENDS, (text) => {
        place.input.mark();
        place.think(text);
      });
      place.settle();
    } else return true;
  }
  return true;
};

/** What ends a call for sure: all else may begin where one was left unfinished. */
const CALL_ENDS: ReadonlySet<string> = new Set(["<|call|>", "<|end|>", "<|return|>"]);

interface CallBody {
  readonly input: ReturnType<typeof readValue> & ({} | null);
  readonly end: string | undefined;
}

function* readBody({ input }: ReadPlace, json: boolean): Reading<CallBody | undefined> {
  yield* input.space();
  if ((yield* input.peek()) !== "{") {
    const { text, marker } = yield* input.textUntil(BODY_ENDS);
    const ended = marker === undefined ? text !== "" : CALL_ENDS.has(marker);
    return ended && (!json || text.trim() === "") ? { input: text.trim(), end: marker } : undefined;
  }
  const text = yield* input.nested();
  if (text === undefined) return undefined;
  const value = readValue(text);
  const { marker } = { marker: yield* readEnd({ input }) };
  return { input: isJsonObject(value) ? value : text, end: marker };
}

/** The mark that stands right behind a call. */
function* readEnd({ input }: Pick<ReadPlace, "input">): Reading<string | undefined> {
  yield* input.space();
  if (yield* input.take("<|call|>commentary")) return "<|call|>"; // as some models go on
  for (const mark of ["<|end|>", "<|call|>", "<|return|>", "<|start|>", "<|channel|>"]) if (yield* input.take(mark)) return mark;
  return undefined;
}

/** The prompt ends behind `<|start|>assistant`: a message may begin with whom it is for. */
const begun: CallReader = function* (place) {
  yield* place.input.take("assistant");
  yield* place.input.take(" ");
  return (yield* place.input.take("to=")) && (yield* message(place, "to="));
};

export const HARMONY: TextGrammar = {
  calls: [
    { mark: "<|start|>", read: message },
    { mark: "<|channel|>", read: message },
  ],
  unsaid: ["<|end|>", "<|return|>", "<|call|>"],
  thinking: [],
  start: begun,
};
