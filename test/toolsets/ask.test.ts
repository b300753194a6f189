import { describe, expect, test } from "vitest";
import type { AskRequest, QuestionAnswer } from "../../src/core/approvals/ask.ts";
import { askToolset } from "../../src/toolsets/ask.ts";
import { gate, testRuntime } from "../runtime/bench-runtime.ts";

function bench(answer?: (request: AskRequest) => QuestionAnswer | Promise<QuestionAnswer>) {
  const asked: AskRequest[] = [];
  const ask = (request: AskRequest) => {
    asked.push(request);
    return answer?.(request) ?? { action: "cancel" as const };
  };
  const made = testRuntime({ toolsets: [askToolset()], ...(answer === undefined ? {} : { ask }) });
  return { ...made, asked };
}

describe("F1.72 ask_user and show_card", () => {
  test("F1.72 the answer of the user is the output", async () => {
    const { runtime, asked } = bench(() => ({ action: "accept", content: { answer: "Blue" } }));
    const result = await runtime.execute({ name: "ask_user", input: { question: "Which colour?", options: ["Blue", "Red"] } });
    expect(result).toMatchObject({ status: "ok", output: "Blue" });
    expect(asked).toMatchObject([
      {
        message: "Which colour?",
        toolName: "ask::ask_user",
        schema: { properties: { answer: { type: "string", enum: ["Blue", "Red"] } } },
      },
    ]);
  });

  test("F1.72 without an ask function the call is an error at once", async () => {
    const { runtime } = bench();
    const result = await runtime.execute({ name: "ask_user", input: { question: "Which colour?" } });
    expect(result).toMatchObject({
      status: "error",
      attempts: 1,
      error: { code: "unavailable", hint: expect.stringContaining("without the answer") },
    });
  });

  test.each([
    ["ask_user", { question: "Which colour?" }],
    ["show_card", { title: "Colours", actions: ["Blue"] }],
  ])("F1.72 questions that nobody answered do not stop %s for a user who is there", async (name, input) => {
    const { runtime } = bench();
    for (let n = 0; n < 8; n++) expect((await runtime.execute({ name, input })).error?.code).toBe("unavailable");
    const answer: QuestionAnswer = { action: "accept", content: { answer: "Blue" } };
    expect((await runtime.execute({ name, input }, { ask: () => answer })).output).toBe("Blue");
  });

  test.each([
    ["ask_user", { question: "Which colour?", options: ["Blue", "Red"] }],
    ["show_card", { title: "Colours", actions: ["Blue", "Red"] }],
  ])("F1.72 an answer that is none of the choices of %s is not passed on as one", async (name, input) => {
    const { runtime, ports } = bench(() => ({ action: "accept", content: { answer: "Green" } }));
    expect((await runtime.execute({ name, input })).error?.code).toBe("unavailable");
    expect(ports.log.lines.at(-1)?.message).toContain("its answer does not match the question: $.answer: ");
  });

  test("F1.72 a declined question is an answer", async () => {
    const { runtime } = bench(() => ({ action: "decline" }));
    expect((await runtime.execute({ name: "ask_user", input: { question: "Your age?" } })).output).toBe("The user declined to answer.");
  });

  test("F1.72 a user may take longer than the tool timeout, and questions are asked one at a time", async () => {
    const answers = [gate<QuestionAnswer>(), gate<QuestionAnswer>()];
    const { runtime, asked, ports } = bench(({ message }) => answers[message === "First?" ? 0 : 1]?.promise ?? { action: "cancel" });
    const results = runtime.execute([
      { name: "ask_user", input: { question: "First?" } },
      { name: "ask_user", input: { question: "Second?" } },
    ]);
    await ports.clock.advance(3_600_000);
    expect(asked.map(({ message }) => message)).toEqual(["First?"]);
    answers[0]?.open({ action: "accept", content: { answer: "1" } });
    answers[1]?.open({ action: "accept", content: { answer: "2" } });
    expect((await results).map(({ output }) => output)).toEqual(["1", "2"]);
  });

  test("F1.72 a card with actions waits for a choice, and a card without actions returns at once", async () => {
    const { runtime, asked } = bench(() => ({ action: "accept", content: { answer: "Retry" } }));
    const chosen = await runtime.execute({
      name: "show_card",
      input: { title: "Build failed", text: "2 errors", actions: ["Retry", "Stop"] },
    });
    expect([chosen.output, asked[0]?.message]).toEqual(["Retry", "Build failed\n\n2 errors"]);
    expect((await runtime.execute({ name: "show_card", input: { title: "Done" } })).output).toBe("Shown.");
    expect(asked).toHaveLength(1);
  });

  test("F1.72 an answer without the answer field is an error, and so is a simulated question", async () => {
    const { runtime } = bench(() => ({ action: "accept", content: { other: 1 } }));
    expect((await runtime.execute({ name: "ask_user", input: { question: "?" } })).error?.code).toBe("unavailable");
    const { results } = await runtime.session("s").simulate({ name: "ask_user", input: { question: "?" } });
    expect(results[0]?.error?.code).toBe("not_simulatable");
  });
});
