import { expect, test } from "vitest";
import type { ModelMessage } from "../../src/core/message.ts";
import { groupRounds } from "../../src/core/rounds.ts";
import { answered, called, said } from "../wire/conversations.ts";

const one = called("c1", "a");
const two = called("c2", "a");
const later = called("c3", "a", { turnId: "turn_2" });

test.each<[string, readonly ModelMessage[], readonly string[]]>([
  ["a call that is there twice counts once", [one, one, answered("c1", "a"), one], ["assistant: c1"]],
  ["a result of nobody's call parts nothing", [one, answered("none", "a"), two], ["assistant: c1 c2"]],
  [
    "a result of an earlier message's call parts nothing",
    [one, said("user", "Hurry."), two, answered("c1", "a"), called("c4", "a")],
    ["assistant: c1", "user", "assistant: c2 c4"],
  ],
  ["a result of its own ends a message", [one, answered("c1", "a"), two], ["assistant: c1", "assistant: c2"]],
  ["another turn begins another message", [one, two, later], ["assistant: c1 c2", "assistant: c3"]],
  [
    "what was said right before calls belongs to them",
    [said("assistant", "I look."), one, said("assistant", "Done.")],
    ["assistant says: c1", "assistant says:"],
  ],
  [
    "calls behind what somebody else said do not",
    [said("assistant", "Hm."), said("system", "Go on."), one],
    ["assistant says:", "system", "assistant: c1"],
  ],
])("F1.44 %s", (_claim, messages, expected) => {
  const outline = groupRounds(messages).map((round) => {
    if (round.by !== "assistant") return round.by;
    return [round.message === undefined ? "assistant:" : "assistant says:", ...round.calls.map(({ callId }) => callId)].join(" ");
  });
  expect(outline).toEqual(expected);
});
