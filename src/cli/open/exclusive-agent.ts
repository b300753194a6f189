/** Runs an agent in one process of a store at a time: in this process while it has the agent's session. */
import type { Agent } from "../../compose/agent.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { ToolError } from "../../core/error.ts";
import { ACTIVE_JOB_STATES } from "../../core/jobs/job-status.ts";
import { systemPorts } from "../../core/system/system-ports.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { RulesOfPrincipal } from "../../runtime/resume/resume-session.ts";
import type { RuntimeSession } from "../../runtime/runtime-session.ts";
import { handOverWaiting, groupCallsBySession } from "../../server/api/sessions/calls-in-progress.ts";

export interface ExclusiveAgentOptions {
  /** The name of the agent, and the id of its session. */
  readonly name: string;
  readonly runtime: Runtime;
  /** Holds the agent by its name while it runs in this process. */
  readonly agents: Map<string, Agent>;
  readonly make: (session: RuntimeSession) => Agent;
  /** The tools that interrupted calls of its session may still use. @default those that each was made with */
  readonly allow?: RulesOfPrincipal;
  readonly log: (message: string) => void;
}

/** How often to check whether the session is free, or still open here, in milliseconds. */
const CHECK_INTERVAL_MS = 1_000;

export class ExclusiveAgent {
  readonly #options: ExclusiveAgentOptions;
  #agent: Agent | undefined;
  #stopTimer: (() => void) | undefined;
  #currentCheck: Promise<void> = Promise.resolve();
  #isDraining = false;
  #isStopped = false;
  #lastLogged: string | undefined;

  constructor(options: ExclusiveAgentOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the agent runs here or is known to run elsewhere, and after a second at the latest: interrupted calls may continue for long, or
   * wait for a person who needs the server to answer them.
   *
   * @throws, as a rejection, as `Runtime.resume` does within that second, if processes do not share the store
   */
  async start(): Promise<void> {
    const started = this.#startChecks();
    this.#currentCheck = started.catch(() => {});
    const isLong = Promise.withResolvers<true>();
    const stopTimer = systemPorts.clock.timer(() => isLong.resolve(true), CHECK_INTERVAL_MS);
    try {
      if ((await Promise.race([started, isLong.promise])) === true) started.catch((thrown: unknown) => this.#continueAfter(thrown));
    } finally {
      stopTimer();
    }
  }

  async #startChecks(): Promise<void> {
    if (this.#options.runtime.store?.queue === undefined) await this.#acquireSession();
    await this.#startCheck(); // keeps checking, as a request may remove the session
  }

  #continueAfter(thrown: unknown): void {
    this.#logOnce(ToolError.fromUnknown(thrown, "store_failed"));
    if (!this.#isStopped) void this.#startCheck();
  }

  /** Gives the agent up within a second after it has no run and no jobs. Another process then continues it while calls of other sessions end here. */
  drain(): void {
    this.#isDraining = this.#options.runtime.store?.queue !== undefined; // otherwise no other process would take it before this one has ended
  }

  /** Stops the agent. When this resolves, its session is free for another process. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#stopTimer?.();
    const { name, runtime } = this.#options;
    // its calls may wait for a person
    if (this.#agent === undefined && runtime.sessions.resuming.includes(name)) await runtime.sessions.handOver(name);
    await this.#currentCheck;
    await this.#releaseSession();
  }

  #startCheck(): Promise<void> {
    this.#currentCheck = this.#checkAgainLater();
    return this.#currentCheck;
  }

  /** Checks now, and again after `CHECK_INTERVAL_MS`. Never rejects. */
  async #checkAgainLater(): Promise<void> {
    await this.#check();
    if (!this.#isStopped) this.#stopTimer = systemPorts.clock.timer(() => void this.#startCheck(), CHECK_INTERVAL_MS, { background: true });
  }

  async #check(): Promise<void> {
    try {
      const { session, state } = this.#agent ?? {};
      const isDone = this.#isDraining && ((state === "idle" && session?.jobs.length === 0) || this.#waitsForPerson(session));
      const leavesJobs = state === "idle" && session !== undefined && this.#leavesJobsOf(session);
      if (session !== undefined && !session.closed && session.broken === undefined && !isDone && !leavesJobs) return;
      await this.#releaseSession();
      if (this.#isStopped || this.#isDraining) return; // a resume that begins now would not be handed over
      if (await this.#awaitsJobs()) return;
      await this.#acquireSession();
      this.#lastLogged = undefined;
    } catch (thrown: unknown) {
      this.#logOnce(ToolError.fromUnknown(thrown, "store_failed"));
    }
  }

  /** Whether the session has jobs that have not started, and that only other processes start. */
  #leavesJobsOf({ jobs }: RuntimeSession): boolean {
    return this.#leavesJobs && jobs.length > 0 && jobs.every(({ state }) => state === "queued");
  }

  /** Whether the store has jobs of the agent that only other processes run: until they have ended, one of these has the session. */
  async #awaitsJobs(): Promise<boolean> {
    const { name, runtime } = this.#options;
    if (!this.#leavesJobs) return false;
    const jobs = await runtime.store?.jobs.list({ sessionId: name, states: ACTIVE_JOB_STATES, limit: 1 });
    return jobs !== undefined && jobs.length > 0;
  }

  get #leavesJobs(): boolean {
    const { store, jobs } = this.#options.runtime;
    return store?.queue !== undefined && !jobs.runHere;
  }

  /** Whether nothing of the session runs because all its calls wait for a person. */
  #waitsForPerson(session: RuntimeSession | undefined): boolean {
    return session !== undefined && groupCallsBySession(this.#options.runtime).get(session.id)?.awaitsPerson === true;
  }

  #logOnce({ code, message }: ToolError): void {
    if (this.#isStopped || code === "resource_busy" || this.#lastLogged === message) return;
    this.#lastLogged = message;
    this.#options.log(`agent ${this.#options.name}: ${message}`);
  }

  async #acquireSession(): Promise<void> {
    const { name, runtime, agents, make, allow } = this.#options;
    const session =
      runtime.store === undefined ? runtime.session(name) : await runtime.resume(name, { create: true, ...omitUndefined({ allow }) });
    const agent = make(session);
    this.#agent = agent;
    agents.set(name, agent);
    agent.start();
  }

  /** Gives the session up. Unread messages stay in the inbox; running jobs and calls that wait for a person continue where it is resumed. */
  async #releaseSession(): Promise<void> {
    const agent = this.#agent;
    if (agent === undefined) return;
    this.#agent = undefined;
    this.#options.agents.delete(this.#options.name);
    const { session } = agent;
    const { runtime } = this.#options;
    const leaving = await handOverWaiting(runtime, session.id, "the agent was stopped");
    await agent.stop();
    if (leaving !== undefined) {
      const jobs = session.jobs.length;
      await leaving.handedOver;
      if (jobs > 0) await runtime.store?.queue?.offer([session.id]);
      return;
    }
    const isLost = session.broken !== undefined; // another process has the session now, or the store failed: nothing can be written
    const jobs = session.jobs.length;
    const keepsJobs = jobs > 0 && runtime.store?.outlivesProcess === true;
    if (runtime.store?.queue === undefined && !isLost && !keepsJobs) return; // the runtime closes the session
    await (jobs > 0 ? runtime.sessions.handOver(session.id) : session.close()).catch((thrown: unknown) => {
      if (!isLost) throw thrown;
    });
    if (jobs > 0 && this.#leavesJobs) await runtime.store?.queue?.offer([session.id]);
  }
}
