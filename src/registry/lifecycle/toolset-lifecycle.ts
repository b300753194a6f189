/** Opens, refreshes and closes toolsets in parallel, each within its own time limit; the failure of one does not affect the others. */
import { pushAll } from "../../core/collections/push-all.ts";
import { OWN_NAMESPACE } from "../../core/call.ts";
import type { Engine } from "../../core/engine.ts";
import { ToolError } from "../../core/error.ts";
import type { Toolset } from "../../core/toolset.ts";
import { EngineLifecycle } from "./engine-lifecycle.ts";
import { EngineRelister } from "./engine-relister.ts";
import { EngineLifecycles } from "./engine-lifecycles.ts";
import { mergeToolsets, type MergedToolsets, type ToolsetFailure } from "./merge-toolsets.ts";
import { closedBeforeOpenError, openFailedError, throwClosed, type OpenReport, type RefreshReport } from "./open-report.ts";
import { findNearNames } from "../../core/base/near-names.ts";
import { missingToolsetError } from "../missing-tool-error.ts";
import type { ToolsetChange, ToolsetParts } from "../prepare-toolset.ts";
import type { LifecycleOptions } from "./lifecycle-options.ts";
import { ToolSources } from "./tool-sources.ts";
import { ToolsetStates } from "./toolset-states.ts";
import { isEnabled, listUnopenedNames } from "./unopened-names.ts";

const MAX_NEAR = 3;

export class ToolsetLifecycle {
  readonly #options: LifecycleOptions;
  #declared: readonly Toolset[];
  /** The declared toolsets that were added after construction. */
  readonly #addedLater = new Set<Toolset>();
  readonly #sources: ToolSources;
  readonly #engines: EngineLifecycles;
  readonly #states: ToolsetStates;
  readonly relister: EngineRelister;
  #toolsets: readonly Toolset[];
  #opening: Promise<OpenReport> | undefined = undefined;
  #closing: Promise<readonly ToolError[]> | undefined = undefined;

  /**
   * Adds the toolsets to the registry. Toolsets whose engine must be opened can be called after `open`, the others at once. A disabled toolset is
   * added, but never opened.
   *
   * @throws ToolError `duplicate` if two toolsets have the same name, `invalid_argument` if one is incomplete
   */
  constructor(toolsets: readonly Toolset[], options: LifecycleOptions) {
    const { registry, ports } = options;
    this.#options = options;
    this.#states = new ToolsetStates(options);
    for (const toolset of toolsets) registry.addToolset(toolset);
    // the lifecycle manages only those toolsets of the registry that have an engine to open
    const openable = (options.registered ?? []).filter((toolset) => toolset.engine?.open !== undefined);
    this.#declared = [...openable, ...toolsets];
    for (const toolset of this.#declared) if (toolset.engine?.open !== undefined) registry.setToolsetState(toolset.name, "closed");
    this.#toolsets = this.#declared;
    this.#sources = new ToolSources(options.sources ?? [], ports);
    this.relister = new EngineRelister(ports.clock, (life) => this.#listOne(life));
    this.#engines = new EngineLifecycles(ports, {
      changed: (life) => this.#closing === undefined && this.relister.schedule(life),
      disconnected: (life, connection) => this.#states.noteDisconnected(life, connection),
    });
    this.#engines.setToolsets(this.#declared.filter(isEnabled));
    registry.lateOpenings.opener = {
      openAdded: (toolset) => this.#openAdded(toolset),
      abandonRemoved: (name) => this.#abandonRemoved(name),
      onListed: (namespaces) => this.#onListed(namespaces),
    };
  }

  engineOf(toolset: Toolset): Engine {
    return toolset.engine ?? this.#options.localEngine;
  }

  /**
   * Reads the sources and opens all toolsets, once; further calls share the first run. The tools that an engine lists are added to the first of its
   * toolsets that has no tools of its own, or else to the first.
   *
   * Rejects if `strict` and a toolset or source failed, after closing the toolsets that were open, and also once `close` was called.
   */
  open(): Promise<OpenReport> {
    this.#opening ??= this.#openAll();
    return this.#closing === undefined ? this.#opening : this.#opening.then(throwClosed);
  }

  /**
   * Reads the sources again, asks the engines that support it for their current tools, opens toolsets that are new or failed to open before, and
   * applies all differences at one moment. Toolsets that fail stay as they were. Refreshes run one by one.
   *
   * Rejects before `open` and after `close`; with `strict` also if anything failed, and then nothing has changed.
   */
  refresh(): Promise<RefreshReport> {
    return this.relister.run(() => this.#refresh());
  }

  /** Calls `changed` when the toolsets of a source may have changed. The returned function stops watching. */
  watch(changed: () => void): () => void {
    return this.#sources.watch(changed);
  }

  /**
   * Makes every tool of the registry unavailable, abandons toolsets that are still opening, and, once no call uses the engines, closes every open
   * engine, even if some fail. Idempotent. Resolves to the errors.
   */
  close(whenUnused: () => Promise<void> = () => Promise.resolve()): Promise<readonly ToolError[]> {
    this.#closing ??= this.#closeAll(whenUnused);
    return this.#closing;
  }

  /**
   * Opens one toolset, whether or not `open` was called.
   *
   * @throws ToolError `not_found`; `unavailable` if it could not be opened or is disabled, as a rejection
   */
  async openOne(name: string): Promise<void> {
    this.#checkNotClosed();
    const toolset = this.#requireToolset(name);
    if (!isEnabled(toolset)) throw openFailedError(name, new ToolError("unavailable", "it is disabled."));
    this.#states.allowOpening(name);
    await this.#opening?.catch(() => {}); // it may be among the toolsets that `open` is opening
    const life = this.#engines.find(toolset);
    if (life !== undefined) await this.#openOne(life);
    const failure = this.#states.failureOf(name);
    if (failure !== undefined) throw openFailedError(name, failure);
    // `closeOne` may have removed its tools but not closed its engine, and a toolset without an engine may have been added late
    if (!this.#states.isClosedByProgram(name)) this.#options.registry.setToolsetState(name, "open");
  }

  /**
   * Removes the tools of one toolset at once and, when no call uses it any more, closes its engine unless other toolsets share it. `open` and
   * `refresh` do not open it again.
   *
   * @throws ToolError `not_found`; `unavailable` if the engine could not be closed, as a rejection
   */
  async closeOne(name: string): Promise<void> {
    this.#checkNotClosed();
    const life = this.#engines.find(this.#requireToolset(name));
    this.#states.markClosedByProgram(name);
    if (life?.engine !== undefined && this.#states.areClosedByProgram(life)) {
      life.abandon(closedBeforeOpenError());
      await this.#options.whenUnused?.(life.engine);
    }
    if (!this.#states.isClosedByProgram(name)) return; // it was opened again meanwhile
    const error = life !== undefined && this.#states.areClosedByProgram(life) ? await life.close() : undefined;
    this.#states.markClosed(name, error);
    if (error !== undefined) throw error;
  }

  #onListed(namespaces: ReadonlySet<string> | undefined): void {
    if (this.#opening !== undefined || this.#closing !== undefined) return;
    const known = new Set(this.#options.registry.namespaces());
    const isKnown = (name: string): boolean => known.has(name);
    this.#states.warnUnopened(listUnopenedNames({ toolsets: this.#toolsets, sources: this.#sources.names, namespaces, isKnown }));
  }

  /** @throws ToolError `not_found`; `invalid_argument` if the name is not a string, as an untyped program may pass */
  #requireToolset(name: string): Toolset {
    if (typeof name !== "string") throw new ToolError("invalid_argument", "The name of a toolset must be a string.");
    const known = this.#options.registry.toolsets().filter((toolset) => toolset.name !== OWN_NAMESPACE);
    const toolset = this.#toolsets.find((one) => one.name === name) ?? known.find((one) => one.name === name);
    if (toolset !== undefined) return toolset;
    const names = new Set([...this.#toolsets, ...known].map((one) => one.name));
    throw missingToolsetError(name, findNearNames(name, names, MAX_NEAR));
  }

  /** Opens a toolset that the program adds later: together with the others, or at once if they are already open. */
  #openAdded(toolset: Toolset): Promise<void> | undefined {
    if (toolset.engine?.open === undefined || this.#closing !== undefined) return undefined;
    this.#options.registry.setToolsetState(toolset.name, "closed");
    this.#addedLater.add(toolset);
    this.#setDeclared([...this.#declared.filter(({ name }) => name !== toolset.name), toolset], toolset.name);
    const life = this.#engines.find(toolset);
    if (this.#opening === undefined || life === undefined) return undefined;
    return this.#opening.then(
      () => this.#openLate(life, toolset),
      () => {}, // the failure was reported by `open`, or the lifecycle is closed
    );
  }

  async #openLate(life: EngineLifecycle, toolset: Toolset): Promise<void> {
    if (!this.#isNeeded(life)) return;
    if (!life.isOpen) return this.#openOne(life);
    if (!life.toolsets.includes(toolset) || this.#states.isOpen(toolset.name)) return;
    this.#registerListedTools(life);
    this.#states.markOpen([toolset]);
  }

  /** Forgets a removed late toolset. An engine that is still opening only for it is abandoned; an open one is closed with the others. */
  #abandonRemoved(name: string): void {
    const removed = this.#declared.find((toolset) => toolset.name === name);
    if (removed === undefined || !this.#addedLater.delete(removed) || this.#closing !== undefined) return;
    const life = this.#engines.find(removed);
    this.#setDeclared(
      this.#declared.filter((toolset) => toolset !== removed),
      name,
    );
    this.#states.forgetRemoved(name);
    if (life !== undefined && !this.#isNeeded(life)) life.abandon(new ToolError("cancelled", "it was removed before it was open."));
  }

  /** @param name of the toolset that was added, replaced or removed */
  #setDeclared(declared: readonly Toolset[], name: string): void {
    this.#declared = declared;
    const others = this.#toolsets.filter((toolset) => toolset.name !== name);
    this.#toolsets = [...others, ...declared.filter((toolset) => toolset.name === name)];
    this.#engines.setToolsets(this.#toolsets.filter(isEnabled));
  }

  #isNeeded(life: EngineLifecycle): boolean {
    return this.#engines.find(life.toolsets[0]) === life;
  }

  async #openAll(): Promise<OpenReport> {
    this.#checkNotClosed();
    if (this.#sources.names.length > 0) await this.#loadSources();
    await this.#engines.forEach((life) => (this.#states.areClosedByProgram(life) ? Promise.resolve() : this.#openOne(life)));
    const first = this.#states.firstFailure;
    if (this.#options.strict === true && first !== undefined) {
      await this.close();
      throw openFailedError(...first);
    }
    return this.#states.report(this.#toolsets.filter(isEnabled));
  }

  /** Registers the toolsets of the sources that the program did not declare itself. */
  async #loadSources(): Promise<void> {
    const unread = await this.#sources.load();
    this.#checkNotClosed();
    const { toolsets, failed } = mergeToolsets([...this.#declared, ...this.#sources.toolsets]);
    const declared = new Set(this.#declared);
    const unusable = this.#registerEach(toolsets.filter((toolset) => !declared.has(toolset))).failed;
    for (const { toolset, error } of [...unread, ...unusable, ...failed]) this.#states.markFailed(toolset, error);
    this.#toolsets = toolsets;
    this.#engines.setToolsets(toolsets.filter((toolset) => isEnabled(toolset) && this.#states.failureOf(toolset.name) === undefined));
  }

  async #openOne(life: EngineLifecycle): Promise<void> {
    try {
      if (this.#closing !== undefined) throw closedBeforeOpenError();
      if (!life.isOpen) await life.open();
      if (this.#closing !== undefined) throw closedBeforeOpenError();
      if (!this.#isNeeded(life)) return;
      this.#registerListedTools(life);
      this.#states.markOpen(life.toolsets);
    } catch (thrown: unknown) {
      if (!this.#isNeeded(life)) return;
      const error = ToolError.fromUnknown(thrown, "unavailable");
      for (const toolset of life.toolsets) this.#states.markFailed(toolset.name, error);
      if (this.#options.strict === true) this.#engines.abandon(new ToolError("cancelled", "another toolset failed to open."));
    }
  }

  #registerListedTools(life: EngineLifecycle): void {
    if (life.listedTools.length > 0) this.#options.registry.replace([this.#partsOf(life.toolsets[0])]);
  }

  async #refresh(): Promise<RefreshReport> {
    if (this.#opening === undefined)
      throw new ToolError("invalid_argument", "The toolsets are not open yet.", { hint: "Call open() first." });
    await this.#opening;
    this.#checkNotClosed();
    const unread = await this.#sources.load();
    this.#checkNotClosed();
    this.#mergeAll();
    const unopened = await this.#openOrListEngines();
    this.#checkNotClosed();
    const { toolsets, failed } = this.#mergeAll(); // other toolsets may have been added or removed meanwhile
    const failures = [...unread, ...failed, ...unopened];
    const report = this.#options.strict === true ? this.#applyAll(toolsets, failures) : this.#apply(toolsets, failures);
    this.#updateStates();
    void this.#closeDropped();
    return report;
  }

  #mergeAll(): MergedToolsets {
    const merged = mergeToolsets([...this.#declared, ...this.#sources.toolsets]);
    this.#engines.setToolsets(merged.toolsets.filter(isEnabled));
    return merged;
  }

  /** Opens the engines that are not open, and asks the others for their tools. */
  async #openOrListEngines(): Promise<readonly ToolsetFailure[]> {
    const failures: ToolsetFailure[] = [];
    await this.#engines.forEach(async (life) => {
      try {
        if (this.#closing !== undefined) throw closedBeforeOpenError();
        if (this.#states.areClosedByProgram(life)) return;
        if (!life.isOpen) await life.open();
        else if (life.canList) await life.list();
      } catch (thrown: unknown) {
        const error = ToolError.fromUnknown(thrown, "unavailable");
        for (const toolset of life.toolsets) failures.push({ toolset: toolset.name, error });
      }
    });
    return failures;
  }

  /** Applies each toolset completely, or leaves it as it was. Synchronous, so no caller sees an intermediate state. */
  #apply(toolsets: readonly Toolset[], failures: readonly ToolsetFailure[]): RefreshReport {
    const { changed, failed } = this.#registerEach(toolsets);
    const removed = this.#options.registry.replace([], this.#namesNotIn(toolsets));
    this.#toolsets = toolsets;
    for (const { toolset, error } of [...failures, ...failed]) if (!this.#states.isOpen(toolset)) this.#states.markFailed(toolset, error);
    return this.#reportChanges([...changed, ...removed], [...failures, ...failed]);
  }

  /** As `#apply`, but all toolsets or none. */
  #applyAll(toolsets: readonly Toolset[], [first]: readonly ToolsetFailure[]): RefreshReport {
    try {
      if (first !== undefined) throw openFailedError(first.toolset, first.error);
      const parts = toolsets.map((toolset) => this.#partsOf(toolset));
      const changed = this.#options.registry.replace(parts, this.#namesNotIn(toolsets));
      this.#toolsets = toolsets;
      return this.#reportChanges(changed, []);
    } catch (error: unknown) {
      this.#engines.setToolsets(this.#toolsets.filter(isEnabled));
      void this.#closeDropped();
      throw error;
    }
  }

  #registerEach(toolsets: readonly Toolset[]): RefreshReport {
    const { registry } = this.#options;
    const changed: ToolsetChange[] = [];
    const failed: ToolsetFailure[] = [];
    for (const toolset of toolsets) {
      const isNew = !registry.namespaces().includes(toolset.name);
      try {
        pushAll(changed, registry.replace([this.#partsOf(toolset)]));
        if (isNew && toolset.engine?.open !== undefined) registry.setToolsetState(toolset.name, "closed");
      } catch (thrown: unknown) {
        // registered without tools, so that calls of it are answered with the reason
        if (isNew) registry.replace([{ toolset: { name: toolset.name }, tools: [] }]);
        failed.push({ toolset: toolset.name, error: ToolError.fromUnknown(thrown) });
      }
    }
    return { changed, failed };
  }

  #namesNotIn(toolsets: readonly Toolset[]): readonly string[] {
    const names = new Set(toolsets.map((toolset) => toolset.name));
    return this.#toolsets.map((toolset) => toolset.name).filter((name) => !names.has(name));
  }

  #reportChanges(changed: readonly ToolsetChange[], failed: readonly ToolsetFailure[]): RefreshReport {
    for (const change of changed) this.#states.emit({ type: "toolset-change", ...change });
    return { changed, failed };
  }

  async #listOne(life: EngineLifecycle): Promise<void> {
    const [first] = life.toolsets;
    const isNeeded = (): boolean => this.#closing === undefined && this.#engines.find(first) === life;
    if (!isNeeded() || !life.canList) return;
    try {
      await life.list();
      if (!isNeeded()) return;
      this.#reportChanges(this.#options.registry.replace([this.#partsOf(first)]), []);
    } catch (thrown: unknown) {
      if (!isNeeded()) return;
      const { message } = ToolError.fromUnknown(thrown);
      this.#options.ports.log.warn(`The tools of ${JSON.stringify(first.name)} have changed, but could not be listed: ${message}`);
    }
  }

  /** The tools to register for a toolset: its own, and those that its engine listed if it is the first toolset of the engine. */
  #partsOf(toolset: Toolset): ToolsetParts {
    const life = this.#engines.find(toolset);
    const listedTools = life?.toolsets[0].name === toolset.name ? life.listedTools : [];
    const { pins } = this.#options;
    return pins === undefined ? { toolset, listedTools } : { toolset, listedTools, block: (tool) => pins.check(toolset.name, tool) };
  }

  /** Updates the states after a refresh: toolsets of open engines are open, removed toolsets are forgotten. */
  #updateStates(): void {
    this.#states.retainOnly(this.#toolsets);
    for (const life of this.#engines.all) if (life.isOpen) this.#states.markOpen(life.toolsets);
  }

  async #closeDropped(): Promise<void> {
    const errors = await this.#engines.closeDropped(this.#options.whenUnused ?? (() => Promise.resolve()));
    for (const error of errors) this.#options.ports.log.warn(error.message);
  }

  async #closeAll(whenUnused: () => Promise<void>): Promise<readonly ToolError[]> {
    this.#states.closeAll();
    this.relister.cancelAll();
    this.#engines.abandon(closedBeforeOpenError());
    this.#sources.abandon(closedBeforeOpenError());
    await Promise.all([this.#engines.whenSettled(), whenUnused()]);
    const errors: ToolError[] = [];
    for (const [life, error] of await this.#engines.close()) {
      for (const toolset of life.toolsets) this.#states.markClosed(toolset.name, error);
      if (error !== undefined) errors.push(error);
    }
    return errors;
  }

  #checkNotClosed(): void {
    if (this.#closing !== undefined) throwClosed();
  }
}
