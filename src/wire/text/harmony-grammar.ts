/** gpt-oss and Muse Glimmer: messages in channels; a call is a message to a function. @see https://cookbook.openai.com/articles/openai-harmony */
import type { JsonValue } from "../../core/base/json.ts";
import { MarkerSet } from "./marker-set.ts";
import { parameterCall } from "./parameter-calls.ts";
import type { CallReader, ReaderContext, TextGrammar } from "./text-grammar.ts";
import type { Reading } from "./text-input.ts";
import { parseObjectOrText } from "./typed-value.ts";

const HEAD_ENDS = new MarkerSet(["<|message|>", "<|end|>", "<|call|>", "<|return|>", "<|start|>"]);
const BODY_END_MARKS = ["<|end|>", "<|call|>", "<|return|>", "<|start|>", "<|channel|>", "<|eom|>", "<|eot|>"] as const;
const BODY_ENDS = new MarkerSet(BODY_END_MARKS);

const ANSWER_ENDS = new MarkerSet(["<|message|>", ...BODY_END_MARKS]);

/** The header of a message that never followed. Not reported, unless it is the header of a call. */
const UNFINISHED_HEAD = /^\s?(?:assistant\b|(?:analysis|commentary|final)$)(?![^]*\bto=)[^]{0,128}$/u;

/** Reads messages up to one for the user. */
const readMessages: CallReader = function* (context, mark) {
  let open: string | undefined = mark;
  while (open === "<|start|>" || open === "<|channel|>" || open === "to=") {
    const { text: head, marker } = yield* context.input.readTextUntil(HEAD_ENDS);
    if (marker === undefined && UNFINISHED_HEAD.test(head)) return true;
    if (marker !== "<|message|>") return false;
    const recipient = open === "to=" ? /^[^\s<]+/u.exec(head)?.[0] : /\bto=([^\s<]+)/u.exec(head)?.[1];
    if (recipient === "user") open = yield* readAnswer(context);
    else if (recipient !== undefined && recipient !== "self" && (yield* startsWithTags(context))) return true;
    else if (recipient !== undefined && recipient !== "assistant" && recipient !== "self") {
      const body: CallBody | undefined = yield* readBody(context, /\bjson\s*$/u.test(head));
      if (body === undefined || !context.acceptCall({ name: recipient.replace(/^functions\./u, ""), input: body.input })) return false;
      open = body.end;
    } else if (recipient === "self" || isAnalysis(head, open)) {
      open = yield* context.input.readUntil(BODY_ENDS, (text) => {
        context.input.setMark();
        context.addThinking(text);
      });
      context.commit();
    } else return true;
  }
  return true;
};

/** For Muse Glimmer: whether the message to a tool has its calls in tags, which have their own marks. */
function* startsWithTags({ input }: ReaderContext): Reading<boolean> {
  yield* input.skipSpace();
  return yield* input.startsWith("<atem:");
}

/**
 * For Muse Glimmer: reads a message to the user, in which tags are text, up to the next message, or to a message to a tool whose mark is missing.
 * Returns undefined if calls may follow.
 */
function* readAnswer(context: ReaderContext): Reading<string | undefined> {
  const { input } = context;
  context.commit();
  for (;;) {
    const mark = yield* input.readUntil(ANSWER_ENDS, (text) => {
      input.setMark();
      context.addText(text);
    });
    context.commit();
    if (mark !== "<|message|>") return mark;
    if (yield* input.startsWith("<atem:")) return undefined;
    context.addText(mark);
  }
}

/** Whether a message is thinking; a head that has several channels by mistake is, if one of them is. */
function isAnalysis(head: string, open: string): boolean {
  const [first, ...channels] = head.split("<|channel|>");
  return [...(open === "<|channel|>" ? [first ?? ""] : []), ...channels].some((channel) => /^\s*analysis\b/u.test(channel));
}

/** The marks that definitely end a call: the others may also begin a message after an unfinished call. */
const CALL_ENDS: ReadonlySet<string> = new Set(["<|call|>", "<|end|>", "<|return|>"]);

interface CallBody {
  readonly input: JsonValue;
  readonly end: string | undefined;
}

function* readBody({ input }: ReaderContext, json: boolean): Reading<CallBody | undefined> {
  yield* input.skipSpace();
  if ((yield* input.peek()) !== "{") {
    const { text, marker } = yield* input.readTextUntil(BODY_ENDS);
    const ended = marker === undefined ? text !== "" : CALL_ENDS.has(marker);
    return ended && (!json || text.trim() === "") ? { input: text.trim(), end: marker } : undefined;
  }
  const text = yield* input.readBalancedObject();
  if (text === undefined) return undefined;
  return { input: parseObjectOrText(text), end: yield* readEnd({ input }) };
}

/** Reads the mark directly after a call. */
function* readEnd({ input }: Pick<ReaderContext, "input">): Reading<string | undefined> {
  yield* input.skipSpace();
  if (yield* input.tryRead("<|call|>commentary")) return "<|call|>"; // some models continue like this
  return yield* input.tryReadAny(["<|end|>", "<|call|>", "<|return|>", "<|start|>", "<|channel|>"]);
}

/** Reads a reply to a prompt that ends with `<|start|>assistant`: a message may begin with its recipient, directly followed by its next mark. */
const readPromptStart: CallReader = function* (context) {
  const { input } = context;
  yield* input.tryRead("assistant");
  yield* input.tryRead(" ");
  if (!(yield* input.startsWith("to="))) return false;
  let ahead = "to=".length;
  while (/[^\s<]/u.test(input.peekArrived(ahead) ?? (yield* input.peek(ahead)))) ahead++;
  ahead += yield* input.countSpaces(ahead, 1);
  if ((yield* input.peek(ahead)) !== "<" || (yield* input.peek(ahead + 1)) !== "|") return false;
  yield* input.tryRead("to=");
  return yield* readMessages(context, "to=");
};

export const HARMONY: TextGrammar = {
  calls: [
    { mark: "<|start|>", read: readMessages },
    { mark: "<|channel|>", read: readMessages },
  ],
  after: ["<|message|>"],
  droppedMarks: ["<|end|>", "<|return|>", "<|call|>"],
  thinking: [],
  start: { read: readPromptStart },
};

/**
 * The format of Muse Glimmer: messages like those of gpt-oss, with thinking addressed to `self`, answers to `user`, and calls in tags.
 *
 * @see https://github.com/huggingface/trl `trl/chat_templates/muse_glimmer.jinja` (2026)
 */
export const MUSE_GLIMMER: TextGrammar = {
  ...HARMONY,
  calls: [
    ...HARMONY.calls,
    {
      mark: "<atem:invoke",
      read: parameterCall({
        close: "</atem:invoke>",
        open: "<atem:parameter",
        end: "</atem:parameter>",
        enclosingEnds: ["</atem:function_calls>"],
        exact: true,
      }),
    },
  ],
  before: ["<atem:function_calls>"],
  after: ["<|message|>", "</atem:function_calls>"],
  droppedMarks: ["<|end|>", "<|return|>", "<|call|>", "<|eom|>", "<|eot|>"],
};
