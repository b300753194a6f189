import { describe, expect, test } from "vitest";
import { ERROR_CODES, type ErrorCode } from "../../src/core/error-codes.ts";
import { ToolError } from "../../src/core/error.ts";
import { Circuit, toCircuitOutcome, type CircuitOutcome, type CircuitSettings } from "../../src/policy/attempts/circuit.ts";
import { FakeClock } from "../../src/testing/fake-ports.ts";

function setUp(settings: CircuitSettings = {}): { clock: FakeClock; circuit: Circuit; changes: string[] } {
  const clock = new FakeClock();
  const changes: string[] = [];
  return { clock, changes, circuit: new Circuit(settings, clock, (state) => changes.push(state)) };
}

function call(circuit: Circuit, outcome: CircuitOutcome, times = 1): void {
  for (let count = 0; count < times; count++) {
    expect(circuit.admit()).toBe(0);
    circuit.record(outcome);
  }
}

describe("F3.36 a closed circuit", () => {
  test("opens at the threshold and then fails fast with the time until the next probe", async () => {
    const { clock, circuit, changes } = setUp();
    call(circuit, "failure", 4);
    expect(circuit.state).toBe("closed");
    call(circuit, "failure");
    await clock.advance(10_000.5);
    expect({ state: circuit.state, waitMs: circuit.admit(), changes }).toEqual({ state: "open", waitMs: 20_000, changes: ["open"] });
  });

  test("keeps a success in the window as long as the failures before it, however long its attempt took", async () => {
    const { clock, circuit } = setUp();
    const attemptAt = clock.now();
    await clock.advance(600_000);
    call(circuit, "failure", 4);
    for (let count = 0; count < 6; count++) circuit.record("success", attemptAt);
    await clock.advance(53_000);
    call(circuit, "failure");
    expect(circuit.state).toBe("closed");
    await clock.advance(7_000); // the failures before the successes have left the window, and so have those
    call(circuit, "failure", 4);
    expect(circuit.state).toBe("open");
  });

  test("counts failures in a rolling window, with successes between them", () => {
    const { circuit } = setUp();
    for (let pair = 0; pair < 4; pair++) {
      call(circuit, "success");
      call(circuit, "failure");
    }
    call(circuit, "success");
    call(circuit, "failure");
    expect(circuit.state).toBe("open");
  });

  test.each([
    [45, "open"],
    [46, "closed"],
  ])("opens at the failure rate of minimumRate: 5 failures and %d successes", (successes, state) => {
    const { circuit } = setUp({ minimumRate: 0.1 });
    call(circuit, "success", successes);
    call(circuit, "failure", 5);
    expect(circuit.state).toBe(state);
  });

  test("stays closed while most calls succeed", () => {
    const { circuit } = setUp();
    call(circuit, "success", 100);
    call(circuit, "failure", 99);
    expect(circuit.state).toBe("closed");
    call(circuit, "failure");
    expect(circuit.state).toBe("open");
  });

  test("opens after 20 failures in a row over at least half a second, however many calls succeeded before", async () => {
    const { clock, circuit } = setUp();
    call(circuit, "success", 1_000);
    call(circuit, "failure", 60); // all at once, as the calls of one message
    await clock.advance(499);
    call(circuit, "failure");
    expect(circuit.state).toBe("closed");
    await clock.advance(1);
    call(circuit, "failure");
    expect(circuit.state).toBe("open");
  });

  test("requires `failures` failures in a row where that is more than 20", async () => {
    const { clock, circuit } = setUp({ failures: 100 });
    call(circuit, "success", 1_000);
    call(circuit, "failure", 98);
    await clock.advance(500);
    call(circuit, "failure");
    expect(circuit.state).toBe("closed");
    call(circuit, "failure");
    expect(circuit.state).toBe("open");
  });

  test("stays closed while successes come between failures, or the failures in a row are few", async () => {
    const { clock, circuit } = setUp();
    call(circuit, "success", 1_000);
    for (let count = 0; count < 40; count++) {
      call(circuit, "failure", 5);
      await clock.advance(100);
      call(circuit, "success");
    }
    call(circuit, "failure", 10);
    await clock.advance(500);
    call(circuit, "failure", 9);
    expect(circuit.state).toBe("closed");
  });

  test("drops failures that have left the window, a tenth of the window at a time", async () => {
    const { clock, circuit } = setUp();
    call(circuit, "failure", 2);
    await clock.advance(30_000);
    call(circuit, "failure", 2);
    await clock.advance(30_000);
    call(circuit, "failure", 2);
    expect(circuit.state).toBe("closed");
    call(circuit, "failure");
    expect(circuit.state).toBe("open");
  });

  test("drops successes that have left the window, after any time", async () => {
    const { clock, circuit } = setUp();
    call(circuit, "success", 1_000);
    await clock.advance(86_400_000);
    call(circuit, "failure", 5);
    expect(circuit.state).toBe("open");
  });

  test("does not count ignored outcomes", () => {
    const { circuit } = setUp();
    call(circuit, "ignored", 1_000);
    call(circuit, "failure", 5);
    expect(circuit.state).toBe("open");
  });
});

describe("F3.36 a half-open circuit", () => {
  test("closes after a successful probe, and starts counting anew", async () => {
    const { clock, circuit, changes } = setUp();
    call(circuit, "failure", 5);
    await clock.advance(30_000);
    call(circuit, "success");
    call(circuit, "failure", 4);
    expect({ state: circuit.state, changes }).toEqual({ state: "closed", changes: ["open", "half-open", "closed"] });
  });

  test("counts anew for the whole of the next window too", async () => {
    const { clock, circuit } = setUp();
    call(circuit, "failure", 5);
    await clock.advance(30_000);
    call(circuit, "success");
    await clock.advance(35_000); // the failures from before it closed would leave the window now
    call(circuit, "failure", 4);
    expect(circuit.state).toBe("closed");
    call(circuit, "failure");
    expect(circuit.state).toBe("open");
  });

  test("stays half-open after a probe with an ignored outcome, which does not count as a probe", async () => {
    const { clock, circuit } = setUp({ probes: 2 });
    call(circuit, "failure", 5);
    await clock.advance(30_000);
    call(circuit, "ignored", 5);
    expect(circuit.state).toBe("half-open");
    call(circuit, "success");
    call(circuit, "ignored");
    expect(circuit.state).toBe("half-open");
    call(circuit, "success");
    expect(circuit.state).toBe("closed");
  });

  test("opens again when a probe fails", async () => {
    const { clock, circuit, changes } = setUp();
    call(circuit, "failure", 5);
    await clock.advance(30_000);
    call(circuit, "failure");
    expect({ waitMs: circuit.admit(), changes }).toEqual({ waitMs: 30_000, changes: ["open", "half-open", "open"] });
  });

  test("needs as many successes as it has probes", async () => {
    const { clock, circuit } = setUp({ probes: 2 });
    call(circuit, "failure", 5);
    await clock.advance(30_000);
    call(circuit, "success");
    expect(circuit.state).toBe("half-open");
    call(circuit, "success");
    expect(circuit.state).toBe("closed");
  });

  test("lets another probe through at once after a probe with an ignored outcome", async () => {
    const { clock, circuit } = setUp();
    call(circuit, "failure", 5);
    await clock.advance(30_000);
    call(circuit, "ignored", 3);
    call(circuit, "success");
    expect(circuit.state).toBe("closed");
  });

  test("replaces a probe that never reports, so that it cannot stay half-open forever", async () => {
    const { clock, circuit } = setUp();
    call(circuit, "failure", 5);
    await clock.advance(30_000);
    expect(circuit.admit()).toBe(0);
    await clock.advance(29_999);
    expect(circuit.admit()).toBe(1);
    await clock.advance(1);
    expect(circuit.admit()).toBe(0);
  });
});

test.each([1, 3])("B15 of 1,000 callers waiting at a half-open circuit at most %d pass", async (probes) => {
  const { clock, circuit } = setUp({ probes });
  call(circuit, "failure", 5);
  await clock.advance(30_000);
  const waits = Array.from({ length: 1_000 }, () => circuit.admit());
  expect(waits.filter((waitMs) => waitMs === 0)).toHaveLength(probes);
  expect(waits.slice(probes).every((waitMs) => waitMs === 30_000)).toBe(true);
});

test("B15 outcomes of 1,000 earlier calls reported while the circuit is open let no call through", async () => {
  const { clock, circuit } = setUp();
  for (let count = 0; count < 1_000; count++) circuit.admit();
  for (let count = 0; count < 5; count++) circuit.record("failure");
  for (let count = 0; count < 995; count++) circuit.record(count % 2 === 0 ? "success" : "failure");
  expect({ state: circuit.state, waitMs: circuit.admit() }).toEqual({ state: "open", waitMs: 30_000 });
  await clock.advance(30_000);
  expect([circuit.admit(), circuit.admit()]).toEqual([0, 30_000]);
});

test.each([
  [{ failures: 0 }, "A circuit's failures must be an integer of at least 1, not 0."],
  [{ failures: "5" as never }, 'A circuit\'s failures must be an integer of at least 1, not "5".'],
  [{ probes: 1.5 }, "A circuit's probes must be an integer of at least 1, not 1.5."],
  [{ openMs: Number.NaN }, "A circuit's openMs must be at least 1 ms, not NaN."],
  [{ windowMs: Infinity }, "A circuit's windowMs must be at least 10 ms, not Infinity."],
  [{ minimumRate: 2 }, "A circuit's minimumRate must be a share from 0 to 1, not 2."],
])("the settings %o are rejected", (settings, message) => {
  expect(() => new Circuit(settings, new FakeClock())).toThrow(message);
});

test("F3.36 only errors that point to an unhealthy dependency count as failures", () => {
  const codes = Object.keys(ERROR_CODES) as ErrorCode[]; // the keys of the table are its codes
  const failures = codes.filter((code) => toCircuitOutcome(new ToolError(code, "x"), false) === "failure");
  expect(failures).toEqual(["unavailable", "timeout", "network_error", "rate_limited"]);
  expect(toCircuitOutcome(undefined, false)).toBe("success");
  expect(toCircuitOutcome(new ToolError("execution_failed", "HTTP 500"), true)).toBe("failure");
  expect(toCircuitOutcome(new ToolError("invalid_input", "x"), false)).toBe("ignored");
});

test("a circuit lists the latest failures that opened it, and clears them when it closes", async () => {
  const { clock, circuit } = setUp({ failures: 2 });
  for (const cause of ["a", "b", "c"]) {
    circuit.addCause(cause);
    circuit.record("failure");
  }
  expect(circuit.causes).toEqual(["a", "b"]);
  await clock.advance(30_000);
  call(circuit, "success");
  expect({ state: circuit.state, causes: circuit.causes }).toEqual({ state: "closed", causes: [] });
});

test.each([
  [2, ["h", "i"]],
  [8, ["e", "f", "g", "h", "i"]],
])("a circuit of %i failures lists only the latest failures, and at most five", (failures, causes) => {
  const { circuit } = setUp({ failures, minimumRate: 1 });
  circuit.record("success"); // so that earlier failures do not open it
  for (const cause of "abcdefghi") {
    circuit.addCause(cause);
    circuit.record("failure");
  }
  expect({ state: circuit.state, causes: circuit.causes }).toEqual({ state: "closed", causes });
});
