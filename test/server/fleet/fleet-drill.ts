/** Servers over one PostgreSQL server that are killed, stopped and cut off under load; a table outside counts what they did. */
import { once } from "node:events";
import { isDeepStrictEqual } from "node:util";
import { createInterface } from "node:readline";
import type { ChildProcess } from "node:child_process";
import type { ToolResult } from "../../../src/core/result.ts";
import { seededRandom } from "../../../src/testing/fake-ports.ts";
import { postgresStore } from "../../../src/store/postgres-store.ts";
import { startPostgres, type PostgresServer } from "../../store/postgres/server.ts";
import { EffectService } from "./effect-service.ts";
import { FleetClient } from "./fleet-client.ts";
import type { FleetNodeSettings } from "./fleet-node.ts";
import { newOrder, SESSIONS, type Order } from "./fleet-orders.ts";
import { checkStore } from "./fleet-verdict.ts";
import { makeNetwork, type FleetNetwork, type NodeNetwork } from "./network.ts";
import { TcpProxy } from "./tcp-proxy.ts";

const TOKEN = "a-token-for-the-drill";
const NODES = 3;
const PORT = 7_420;
const PATIENCE_MS = 120_000;
/** How long a server that is to end waits for what runs in it. */
const GRACE_MS = 300;

export interface FleetDrillOptions {
  /** The file that runs a node. */
  readonly program: string;
  readonly seed: number;
  readonly leaseMs: number;
  /** How often a server is ended by SIGTERM and started again, one after the other. */
  readonly rolls: number;
  /** How often a server is killed before it has ended after SIGTERM, and started again. */
  readonly tornRolls: number;
  readonly kills: number;
  readonly stops: number;
  readonly stopMs: number;
  readonly restarts: number;
  readonly restartEveryMs: number;
  readonly cuts: number;
  readonly cutMs: number;
  readonly halfOpens: number;
  /** Clocks are wrong by so much, one ahead and one behind. */
  readonly skewMs: number;
  /** How many clients ask at a time. */
  readonly clients: number;
  readonly onPhase?: (text: string) => void;
}

export interface FleetDrillReport {
  readonly network: FleetNetwork["kind"];
  readonly rolls: number;
  readonly tornRolls: number;
  readonly kills: number;
  readonly stops: number;
  readonly restarts: number;
  readonly cuts: number;
  readonly halfOpen: number;
  readonly requests: number;
  readonly jobs: number;
  readonly payments: number;
  readonly bumps: number;
  /** Writes that nodes were refused because another had claimed the session. */
  readonly refusedByEpoch: number;
  readonly refusedByFence: number;
  /** What became of the questions whether an account may be closed, by status. */
  readonly questions: Readonly<Record<string, number>>;
  /** Results that say that it is not known what became of the call. */
  readonly unknown: number;
  /** Results of the calls, by status and error. */
  readonly results: Readonly<Record<string, number>>;
  /** Answers that made a client ask again. */
  readonly tries: Readonly<Record<string, number>>;
}

/** @throws Error that says what was lost, done twice, or never ended */
export async function runFleetDrill(options: FleetDrillOptions): Promise<FleetDrillReport> {
  const drill = new FleetDrill(options);
  try {
    return await drill.run();
  } finally {
    await drill.remove();
  }
}

interface Node {
  readonly number: number;
  readonly network: NodeNetwork;
  readonly proxy: TcpProxy;
  proxyPort: number;
  child: ChildProcess | undefined;
}

class FleetDrill {
  readonly #options: FleetDrillOptions;
  readonly #random: () => number;
  readonly #service = new EffectService();
  readonly #network: FleetNetwork;
  readonly #answers = new Map<Order, readonly ToolResult[]>();
  readonly #tries: Record<string, number> = {};
  readonly #client: FleetClient;
  #nodes: readonly Node[] = [];
  #server: PostgresServer | undefined;
  #effects = "";
  #refusedByEpoch = 0;
  #counts = { rolls: 0, tornRolls: 0, kills: 0, stops: 0, restarts: 0, cuts: 0, halfOpen: 0 };
  #orders = 0;
  #isOver = false;
  #isDone = false;
  /** When every request has to be answered. */
  #patience = Infinity;

  constructor(options: FleetDrillOptions) {
    this.#options = options;
    const random = seededRandom(options.seed);
    this.#random = () => random.next();
    this.#network = makeNetwork(NODES);
    this.#client = new FleetClient({
      urls: () => this.#nodes.map((node) => `http://${node.network.host}:${portOf(this.#network, node.number)}`),
      token: TOKEN,
      random: this.#random,
      answerMs: Math.max(1_500, Math.min(8_000, options.leaseMs / 2)),
      onTry: (what) => void (this.#tries[what] = (this.#tries[what] ?? 0) + 1),
    });
  }

  async run(): Promise<FleetDrillReport> {
    const server = (this.#server = await startPostgres({ fsync: "on" }));
    this.#effects = `http://${this.#network.host}:${await this.#service.listen(this.#network.host)}`;
    const target = Number(new URL(server.url).port);
    this.#nodes = this.#network.nodes.map((network, index) => ({
      number: index + 1,
      network,
      proxy: new TcpProxy(target),
      proxyPort: 0,
      child: undefined,
    }));
    for (const node of this.#nodes) node.proxyPort = await node.proxy.listen(this.#network.host);
    await Promise.all(this.#nodes.map((node) => this.#start(node)));
    const person = this.#person();
    const load = Promise.all(Array.from({ length: this.#options.clients }, () => this.#load()));
    await Promise.race([this.#break(), load]); // the load ends before only when it fails
    this.#patience = performance.now() + PATIENCE_MS;
    this.#isOver = true;
    await load;
    this.#patience = performance.now() + 2 * PATIENCE_MS;
    const report = await this.#verdict(server);
    this.#isDone = true;
    await person;
    return report;
  }

  async remove(): Promise<void> {
    this.#isOver = true;
    this.#isDone = true;
    for (const { child, proxy } of this.#nodes) {
      child?.kill("SIGKILL");
      proxy.close();
    }
    await this.#server?.remove();
    await this.#service.close().catch(() => {}); // it may not have begun
    this.#network.remove();
  }

  async #start(node: Node): Promise<void> {
    const { leaseMs, skewMs, program } = this.#options;
    const url = new URL(this.#server?.url ?? "");
    url.hostname = this.#network.host;
    url.port = String(node.proxyPort);
    const settings: FleetNodeSettings = {
      number: node.number,
      host: node.network.host,
      port: portOf(this.#network, node.number),
      hosts: this.#network.nodes.map(({ host }) => host),
      token: TOKEN,
      url: url.href,
      effects: this.#effects,
      leaseMs,
      graceMs: GRACE_MS,
      aheadMs: [0, skewMs, -skewMs][node.number - 1] ?? 0,
    };
    const child = node.network.start(program, [JSON.stringify(settings)]);
    node.child = child;
    const listening = Promise.withResolvers<void>();
    child.once("exit", () => listening.reject(new Error(`Node ${node.number} ended before it listened.`)));
    if (child.stdout === null) throw new Error("A node has no output.");
    createInterface({ input: child.stdout }).on("line", (line) => {
      const said = JSON.parse(line) as { readonly listening?: number; readonly refused?: string }; // as fleet-node.ts writes it
      if (said.listening !== undefined) listening.resolve();
      if (said.refused !== undefined) this.#refusedByEpoch++;
    });
    await listening.promise;
  }

  /** A person who answers questions at any node, some of them after a while. */
  async #person(): Promise<void> {
    while (!this.#isDone) {
      await this.#wait(this.#random() * 400);
      await this.#client.allow();
    }
  }

  /** One client: an order after another, and none is given up. */
  async #load(): Promise<void> {
    while (!this.#isOver) {
      const order = newOrder(++this.#orders, { random: this.#random, clients: this.#options.clients });
      this.#answers.set(order, await this.#client.ask(order, () => this.#patience));
    }
  }

  async #break(): Promise<void> {
    const { rolls, tornRolls, kills, stops, restarts, cuts, halfOpens, onPhase = () => {} } = this.#options;
    onPhase(`over ${this.#network.kind}`);
    await this.#wait(500);
    for (; this.#counts.rolls < rolls; this.#counts.rolls++) await this.#roll(this.#nodeAt(this.#counts.rolls));
    await this.#checkQuestions();
    onPhase(`${rolls} restarts in order`);
    for (; this.#counts.tornRolls < tornRolls; this.#counts.tornRolls++) await this.#tearRoll(this.#nodeAt(this.#counts.tornRolls));
    onPhase(`${tornRolls} restarts in order that a kill ended`);
    // Two at a time: one of three runs.
    for (; this.#counts.kills < kills; this.#counts.kills += 2) await Promise.all([0, 1].map((of) => this.#kill(this.#counts.kills + of)));
    onPhase(`${this.#counts.kills} kills`);
    for (; this.#counts.stops < stops; this.#counts.stops += 2) await Promise.all([0, 1].map((of) => this.#stop(this.#counts.stops + of)));
    onPhase(`${this.#counts.stops} stops`);
    for (; this.#counts.restarts < restarts; this.#counts.restarts++) {
      await this.#wait(this.#options.restartEveryMs);
      await this.#server?.restart();
    }
    onPhase(`${restarts} restarts of the database`);
    for (; this.#counts.cuts < cuts; this.#counts.cuts++) await this.#cut(this.#one());
    onPhase(`${cuts} cuts`);
    for (let times = 0; times < halfOpens; times++) {
      this.#counts.halfOpen += this.#one().proxy.halfOpen();
      await this.#wait(1_500);
    }
    onPhase(`${halfOpens} times half-open connections`);
  }

  /** A server that ends in order takes back no question. */
  async #checkQuestions(): Promise<void> {
    const taken = (await this.#server?.execute("select id from haft.haft_approval where status = 'withdrawn'")) ?? [];
    if (taken.length > 0) throw new Error(`${taken.length} questions were withdrawn by servers that ended in order.`);
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, ms));
  }

  #one(): Node {
    return this.#nodeAt(Math.floor(this.#random() * NODES));
  }

  #nodeAt(index: number): Node {
    const node = this.#nodes[index % NODES];
    if (node === undefined) throw new Error("There is no node.");
    return node;
  }

  /** It ends in order, with what runs in it. */
  async #roll(node: Node): Promise<void> {
    await this.#wait(this.#random() * 400);
    const { child } = node;
    if (child === undefined) return;
    const exited = once(child, "exit");
    child.kill("SIGTERM");
    const [code, signal] = (await exited) as readonly unknown[]; // as Node gives them
    if (code !== 0) throw new Error(`Node ${node.number} ended with ${String(code ?? signal)} after SIGTERM.`);
    await this.#start(node);
  }

  /** It is killed somewhere in its orderly end. */
  async #tearRoll(node: Node): Promise<void> {
    await this.#wait(this.#random() * 400);
    const { child } = node;
    if (child === undefined) return;
    const exited = once(child, "exit");
    child.kill("SIGTERM");
    await this.#wait(this.#random() * 2 * GRACE_MS);
    child.kill("SIGKILL");
    await exited;
    await this.#start(node);
  }

  async #kill(turn: number): Promise<void> {
    const node = this.#nodeAt(turn);
    await this.#wait(this.#random() * 400);
    const { child } = node;
    if (child === undefined) return;
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
    await this.#start(node);
  }

  async #stop(turn: number): Promise<void> {
    const { child } = this.#nodeAt(turn);
    await this.#wait(this.#random() * 300);
    child?.kill("SIGSTOP");
    await this.#wait(this.#options.stopMs);
    child?.kill("SIGCONT");
    await this.#wait(500);
  }

  async #cut(node: Node): Promise<void> {
    node.network.cut();
    node.proxy.cut();
    await this.#wait(this.#options.cutMs);
    node.proxy.heal();
    node.network.heal();
    await this.#wait(500);
  }

  /** All nodes live: every order is sent again to another node, jobs come to their ends, and answers, logs and table have to agree. */
  async #verdict(server: PostgresServer): Promise<FleetDrillReport> {
    await Promise.all(SESSIONS.map((sessionId) => this.#askAgain(sessionId)));
    await this.#untilJobsEnd(server);
    const { leaseMs } = this.#options;
    await this.#wait(leaseMs);
    const store = postgresStore({ url: server.url, readOnly: true });
    let facts: Awaited<ReturnType<typeof checkStore>>;
    try {
      facts = await checkStore(store, { answers: this.#answers, service: this.#service });
    } finally {
      await store.close();
    }
    const [{ leases = 0 } = {}] = await server.execute("select count(*)::int as leases from haft.haft_lease");
    if (leases !== 0) throw new Error(`${String(leases)} leases outlive their calls.`);
    const questions = await server.execute("select status, count(*)::int as count from haft.haft_approval group by status");
    const { paid, bumped, refusedByFence } = this.#service;
    return {
      network: this.#network.kind,
      ...this.#counts,
      ...facts,
      requests: this.#answers.size,
      payments: paid.size,
      bumps: bumped.size,
      refusedByEpoch: this.#refusedByEpoch,
      refusedByFence,
      questions: Object.fromEntries(questions.map(({ status, count }) => [String(status), Number(count)])),
      tries: this.#tries,
    };
  }

  async #askAgain(sessionId: string): Promise<void> {
    for (const [order, first] of this.#answers) {
      if (order.sessionId !== sessionId) continue;
      const again = await this.#client.ask(order, () => this.#patience, this.#orders % NODES);
      if (!isDeepStrictEqual(first, again))
        throw new Error(`${order.key} was ${JSON.stringify(first)}, and is ${JSON.stringify(again)} now.`);
    }
  }

  /** Jobs of a node that is gone are taken up when their session is used again. */
  async #untilJobsEnd(server: PostgresServer): Promise<void> {
    const end = performance.now() + PATIENCE_MS;
    for (let round = 0; ; round++) {
      for (const sessionId of SESSIONS) {
        const calls = [{ name: "bank::look", input: { tag: `last ${round}`, ms: 0 } }];
        const order = { key: `last-${round}-${sessionId}`, sessionId, calls, background: false };
        this.#answers.set(order, await this.#client.ask(order, () => this.#patience, round % NODES));
      }
      const left = await server.execute("select session, id, state, starts from haft.haft_job where ended_at is null");
      if (left.length === 0) return;
      if (performance.now() > end) throw new Error(`Jobs that never ended: ${JSON.stringify(left)}`);
      await this.#wait(500);
    }
  }
}

function portOf({ kind }: FleetNetwork, number: number): number {
  return kind === "network namespaces" ? PORT : PORT + number;
}
