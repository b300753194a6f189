/** A fleet in a world that a seed decides: nodes that are paused, killed and cut off, one database, and clients that ask until they are answered. */
import type { ToolResult } from "../../../src/core/result.ts";
import { ToolError } from "../../../src/core/error.ts";
import { countingIds, FakeClock } from "../../../src/testing/fake-ports.ts";
import { Bank } from "../bank.ts";
import { Broken } from "../broken.ts";
import { Dice } from "../dice.ts";
import { Trace } from "../trace.ts";
import { Counters } from "./counters.ts";
import { DatabaseServer } from "./database-server.ts";
import { FleetInvariants } from "./fleet-invariants.ts";
import { FleetNode, type FleetRequest, type NodeSurroundings } from "./fleet-node.ts";
import type { FleetSabotage } from "./fleet-sabotage.ts";

/** A client that waited so long for an answer asks another node. */
const CLIENT_MS = 4_000;
/** Within this time everything is answered once all nodes live. */
const PATIENCE_MS = 60_000;
/** A node comes to its end within this time. */
const CLOSE_MS = 60_000;

export interface FleetWorldOptions {
  readonly seed: number;
  readonly nodes: number;
  readonly sabotage: FleetSabotage | undefined;
  readonly onLine: ((line: string) => void) | undefined;
}

/** A request and its client. */
interface Asked {
  readonly request: FleetRequest;
  /** The node that is asked, by its number; undefined = any. */
  readonly node: number | undefined;
  isAnswered: boolean;
  /** How often it was sent and neither answered nor given up. */
  underWay: number;
}

export class FleetWorld implements NodeSurroundings {
  readonly seed: number;
  readonly clock = new FakeClock();
  readonly dice: Dice;
  readonly bank = new Bank(undefined);
  readonly counters = new Counters((broken) => void (this.#broken ??= broken));
  readonly sabotage: FleetSabotage | undefined;
  readonly server: DatabaseServer;
  readonly invariants: FleetInvariants;
  readonly trace: Trace;
  /** How often each operation, fault and rare point came. */
  readonly counts = new Map<string, number>();
  readonly nodes: FleetNode[] = [];
  readonly asked: Asked[] = [];
  /** How many operations were begun. */
  steps = 0;
  readonly #ids = countingIds();
  /** The lives that were begun, by their number. */
  readonly #lives = new Map<number, FleetNode>();
  #broken: unknown;

  constructor({ seed, nodes, sabotage, onLine }: FleetWorldOptions) {
    this.seed = seed;
    this.sabotage = sabotage;
    this.dice = new Dice(`fleet ${seed}`);
    this.trace = new Trace(onLine);
    const seen = (point: string): void => this.seen(point);
    this.server = new DatabaseServer({
      clock: this.clock,
      dice: new Dice(`database ${seed}`),
      onCommit: (life, changed) => this.#committed(life, changed),
      timeOf: (life) => this.#lives.get(life)?.clock.wallTime() ?? this.clock.wallTime(),
      losesCommits: sabotage === "answer commits that are not made",
      seen,
    });
    this.invariants = new FleetInvariants({ server: this.server, now: () => this.clock.wallTime(), seen });
    for (let number = 1; number <= nodes; number++) this.startNode(number);
  }

  nextId(prefix: string): string {
    return this.#ids.next(prefix);
  }

  seen(point: string): void {
    this.counts.set(point, (this.counts.get(point) ?? 0) + 1);
  }

  done(tag: string, tool: string): void {
    this.invariants.done(tag, tool);
  }

  /** A node begins a life of its own, with a clock that is wrong by minutes or right. */
  startNode(number: number): FleetNode {
    const life = this.#lives.size + 1;
    const node = new FleetNode(this, { number, life, aheadMs: this.dice.of([0, 0, -240_000, 180_000, 600_000]) });
    this.#lives.set(life, node);
    this.nodes[number - 1] = node;
    return node;
  }

  #committed(life: number, changed: ReadonlySet<string>): void {
    this.check(() => {
      for (const line of this.invariants.committed(life, changed)) this.trace.add(this.clock.now(), `node ${life}`, line);
    });
  }

  /** Looks where an error would be lost. */
  check(check: () => void): void {
    try {
      check();
    } catch (thrown: unknown) {
      this.#broken ??= thrown;
    }
  }

  look(): void {
    if (this.#broken !== undefined) throw this.#broken;
  }

  async advance(ms: number): Promise<void> {
    await this.clock.advance(ms);
    this.look();
  }

  /** A client asks a node, and asks again, with the same key, until it is answered. */
  ask(request: FleetRequest, node?: number): void {
    const asked: Asked = { request, node, isAnswered: false, underWay: 0 };
    this.asked.push(asked);
    this.send(asked);
  }

  /** Sends a request once: a first time, after no answer, or because a client does not know that it was answered. */
  send(asked: Asked): void {
    const node = this.nodes.find(({ number }) => number === asked.node) ?? this.dice.of(this.nodes);
    let isOver = false;
    const end = (point: string, then?: () => void): void => {
      this.trace.add(this.clock.now(), `answer of ${node.life}`, point);
      this.seen(`request: ${point}`);
      if (then !== undefined) this.check(then);
      if (isOver) return;
      isOver = true;
      asked.underWay--;
      stop();
      if (!asked.isAnswered) this.clock.timer(() => this.send(asked), this.dice.between(20, 300));
    };
    asked.underWay++;
    const sentAt = this.clock.wallTime();
    const stop = this.clock.timer(() => end("no answer in time"), CLIENT_MS);
    if (!node.isUp) {
      this.clock.timer(() => end("no node there"), 1);
      return;
    }
    // A paused node takes it when it is thawed.
    node.clock.timer(
      () => {
        node.answer(asked.request).then(
          (results) => end("answered", () => this.#take(asked, node, { results, sentAt })),
          (thrown: unknown) => end(codeOf(thrown)),
        );
      },
      this.dice.between(0, 2),
    );
  }

  #take(asked: Asked, { isDead }: FleetNode, answer: { readonly results: readonly ToolResult[]; readonly sentAt: number }): void {
    if (isDead) return;
    asked.isAnswered = true;
    this.invariants.answered(asked.request, answer.results, answer.sentAt);
  }

  forward(from: FleetNode, address: string, request: FleetRequest): Promise<readonly ToolResult[]> {
    const target = this.nodes.find((node) => node.address === address);
    const unavailable = new ToolError("unavailable", "The session is open in another process, which could not be reached.", {
      retryable: true,
    });
    if (target === undefined || !target.isUp || target === from) return Promise.reject(unavailable);
    this.seen("request passed on to another node");
    return new Promise((resolve, reject) => {
      target.clock.timer(() => {
        const back = (then: () => void): void => void from.clock.timer(then, 0);
        target.answer(request, true).then(
          (results) => back(() => resolve(results)),
          (thrown: unknown) => back(() => reject(thrown)),
        );
      }, 1);
    });
  }

  kill(node: FleetNode): void {
    if (node.isDead) return;
    node.die();
    this.seen("node killed");
    this.clock.timer(() => this.startNode(node.number), this.dice.of([50, 500, 5_000]));
  }

  /** Any, or for longer than a lease one that holds one. */
  pauseOne(): void {
    const holders = this.nodes.filter((node) => node.bumping > 0);
    if (holders.length > 0 && this.dice.chance(0.7)) this.#pause(this.dice.of(holders), this.dice.of([4_500, 9_000]));
    else this.#pause(this.dice.of(this.nodes), this.dice.of([200, 2_000, 4_500, 9_000]));
  }

  #pause(node: FleetNode, durationMs: number): void {
    if (!node.isUp || node.clock.isPaused) return;
    node.clock.pause();
    this.seen("node paused");
    this.clock.timer(() => node.clock.thaw(), durationMs);
  }

  cut(node: FleetNode): void {
    if (node.link.isCut) return;
    node.link.cut();
    this.seen("node cut off from the database");
    this.clock.timer(() => node.link.heal(), this.dice.of([100, 1_500, 5_000, 10_000]));
  }

  slow(node: FleetNode): void {
    node.link.isSlow = true;
    this.seen("link slow");
    this.clock.timer(() => void (node.link.isSlow = false), this.dice.between(100, 3_000));
  }

  restartDatabase(): void {
    if (this.server.isDown) return;
    this.server.stop();
    this.seen("database restarted");
    this.clock.timer(() => this.server.start(), this.dice.of([0, 100, 1_500]));
  }

  /** A node ends in order, and another life of it begins. */
  drain(node: FleetNode): void {
    if (!node.isUp || node.clock.isPaused) return;
    this.seen("node drained");
    const restart = (): void => {
      if (node.isDead) return;
      node.die();
      this.startNode(node.number);
    };
    node.clock.timer(restart, 8_000); // as a service manager ends one that does not come to its end
    node.close().then(restart, restart);
  }

  takeOver(node: FleetNode, sessionId: string): void {
    if (!node.isUp || node.clock.isPaused) return;
    this.invariants.allowTakeover(node.life, sessionId);
    node.takeOver(sessionId).then(
      () => this.seen("operator: took a session over"),
      (thrown: unknown) => this.seen(`operator: ${codeOf(thrown)}`),
    );
  }

  /** All faults end, all nodes live: then everything has to be answered, by any node, and every job to end. */
  async settle(): Promise<void> {
    this.#endFaults();
    await this.#untilQuiet();
    for (const { number } of this.nodes) {
      for (const sessionId of new Set(this.asked.map(({ request }) => request.sessionId))) {
        const tag = `last ${number} ${sessionId}`;
        const call = { id: tag, name: "bank::balance", input: { tag, key: "a", ms: 0 } };
        this.ask({ idempotencyKey: tag, sessionId, calls: [call], background: false }, number);
      }
    }
    await this.#untilQuiet();
    this.invariants.checkQuiet();
  }

  /** Now, or when each was to end anyway. */
  #endFaults(): void {
    if (this.dice.chance(0.7)) return;
    this.server.start();
    for (const node of this.nodes) {
      node.link.heal();
      node.link.isSlow = false;
      if (node.clock.isPaused) node.clock.thaw();
    }
  }

  async #untilQuiet(): Promise<void> {
    const end = this.clock.now() + PATIENCE_MS;
    await this.advance(0);
    for (let left = this.#unquiet(); left.length > 0; left = this.#unquiet()) {
      if (this.clock.now() > end) throw new Broken(1, `${left.join(", ")}: ${PATIENCE_MS} ms after all nodes lived.`);
      await this.advance(250);
    }
  }

  /** The things that have not come to their end. */
  #unquiet(): readonly string[] {
    const nodes = this.nodes.filter(({ isUp, clock }) => !isUp || clock.isPaused).map(({ life }) => `node ${life} is not up`);
    const asked = this.asked.filter(({ isAnswered, underWay }) => !isAnswered || underWay > 0).map(({ request }) => request.idempotencyKey);
    const jobs = this.server.rows("select id from haft_job where ended_at is null").map(({ id }) => `job ${String(id)}`);
    const running = this.nodes.flatMap(({ life, runtime }) => runtime.running.map(({ callId }) => `${callId} in node ${life}`));
    return [...nodes, ...asked, ...jobs, ...running];
  }

  /** Everything is closed, and nothing is left. */
  async end(): Promise<void> {
    await this.settle();
    const open = new Set(this.nodes);
    for (const node of this.nodes)
      node.close().then(
        () => open.delete(node),
        (thrown: unknown) => this.check(() => notClosed(node, thrown)),
      );
    for (let waited = 0; open.size > 0; waited += 500) {
      if (waited > CLOSE_MS) throw new Broken(14, `node ${[...open].map(({ life }) => life).join()} never comes to its end.`);
      await this.advance(500);
    }
    this.invariants.checkEnd(this.asked.map(({ request }) => request));
    this.server.close();
  }
}

function notClosed({ life }: FleetNode, thrown: unknown): never {
  throw new Broken(14, `node ${life} did not close: ${String(thrown)}`);
}

function codeOf(thrown: unknown): string {
  return thrown instanceof ToolError ? thrown.code : String(thrown);
}
