/** The way between a node and the database: slow, cut, or losing answers, as the driver of a network database would see it. */
import { CompiledQuery, type DatabaseConnection, type Driver, type QueryResult, type TransactionSettings } from "kysely";
import type { FakeClock } from "../../../src/testing/fake-ports.ts";
import type { Dice } from "../dice.ts";
import { reset, type DatabaseServer, type ServerSession } from "./database-server.ts";
import type { NodeClock } from "./node-clock.ts";

/** A connection whose answer takes longer is given up. */
const ANSWER_MS = 2_500;
const SLOW_MS = 120;

export interface LinkParts {
  readonly node: number;
  readonly clock: NodeClock;
  /** Goes on while the node is paused. */
  readonly worldClock: FakeClock;
  readonly server: DatabaseServer;
  readonly dice: Dice;
  seen(point: string): void;
}

export class Link implements Driver {
  readonly parts: LinkParts;
  isSlow = false;
  /** So many of the next commits are made, and their answer is lost. */
  lostAnswers = 0;
  #isCut = false;
  #isDead = false;
  /** Messages that wait for the cut to be over. */
  #held: (() => void)[] = [];
  #free: LinkConnection[] = [];
  readonly #all = new Set<LinkConnection>();

  constructor(parts: LinkParts) {
    this.parts = parts;
  }

  get isCut(): boolean {
    return this.#isCut;
  }

  cut(): void {
    this.#isCut = true;
  }

  heal(): void {
    this.#isCut = false;
    const held = this.#held;
    this.#held = [];
    for (const send of held) this.carry(send);
  }

  /** The process of the node ends, and its host closes the connections, unless no message comes through. */
  die(): void {
    this.#isDead = true;
    for (const connection of this.#all) connection.hangUp();
    this.#free = [];
  }

  /** Takes a message to the other side. One that is on its way when the link is cut arrives afterwards, or never. */
  carry(arrive: () => void): void {
    const { worldClock, dice } = this.parts;
    const delayMs = this.isSlow ? dice.between(1, SLOW_MS) : dice.between(0, 1);
    worldClock.timer(() => {
      if (this.#isCut) this.#held.push(arrive);
      else arrive();
    }, delayMs);
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    const free = this.#free.pop();
    if (free !== undefined) return free;
    const connection = new LinkConnection(this);
    await connection.connect();
    if (this.#isDead) return new Promise(() => {});
    this.#all.add(connection);
    return connection;
  }

  async beginTransaction(connection: DatabaseConnection, _settings: TransactionSettings): Promise<void> {
    await connection.executeQuery(BEGIN);
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(COMMIT);
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(ROLLBACK);
  }

  async releaseConnection(connection: DatabaseConnection): Promise<void> {
    if (!(connection instanceof LinkConnection)) return;
    if (connection.isUsable) this.#free.push(connection);
    else this.#all.delete(connection);
  }

  async destroy(): Promise<void> {
    for (const connection of this.#all) connection.hangUp();
  }
}

const BEGIN = CompiledQuery.raw("begin");
const COMMIT = CompiledQuery.raw("commit");
const ROLLBACK = CompiledQuery.raw("rollback");

class LinkConnection implements DatabaseConnection {
  readonly #link: Link;
  #session: ServerSession | undefined;
  #isLost = false;

  constructor(link: Link) {
    this.#link = link;
  }

  get isUsable(): boolean {
    return !this.#isLost;
  }

  connect(): Promise<void> {
    const { server, node } = this.#link.parts;
    return this.#exchange((answer, refuse) => {
      this.#session = server.connect(node);
      if (this.#session === undefined) refuse(Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" }));
      else answer();
    });
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    if (this.#isLost) throw reset();
    const result = await this.#exchange<QueryResult<unknown>>((answer, refuse) => {
      const session = this.#session;
      if (session === undefined || !session.isOpen) return refuse(reset());
      session.execute(query).then((found) => {
        if (!this.#losesAnswerTo(query)) return answer(found);
        session.end();
        return refuse(reset());
      }, refuse);
    });
    return result as QueryResult<R>; // Kysely says which rows its query has
  }

  // oxlint-disable-next-line require-yield -- no statement of the store is streamed
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error("The simulated database streams nothing.");
  }

  /** Closes it; the server notices when a message comes through. */
  hangUp(): void {
    this.#isLost = true;
    const session = this.#session;
    if (session !== undefined) this.#link.carry(() => session.end());
  }

  /** Asks the server, and resolves with its answer, in the time of the node. */
  #exchange<T = void>(ask: (answer: (value: T) => void, refuse: (error: unknown) => void) => void): Promise<T> {
    const { clock, seen } = this.#link.parts;
    return new Promise((resolve, reject) => {
      let isOver = false;
      const settle = (then: () => void): void => {
        if (isOver) return;
        isOver = true;
        stop();
        then();
      };
      const stop = clock.timer(
        () =>
          settle(() => {
            seen("answer of the database waited for too long");
            this.hangUp();
            reject(new Error("Query read timeout"));
          }),
        ANSWER_MS,
      );
      const back = (then: () => void): void => this.#link.carry(() => clock.timer(() => settle(then), 0));
      this.#link.carry(() => {
        if (isOver && this.#link.isCut) return;
        ask(
          (value) => back(() => resolve(value)),
          (error) =>
            back(() => {
              if (Reflect.get(Object(error), "code") === "ECONNRESET") this.#isLost = true;
              reject(error);
            }),
        );
      });
    });
  }

  #losesAnswerTo({ sql }: CompiledQuery): boolean {
    if (sql !== "commit" || this.#link.lostAnswers === 0) return false;
    this.#link.lostAnswers--;
    this.#link.parts.seen("answer to a commit lost");
    return true;
  }
}
