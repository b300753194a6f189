/** A tool as the runtime knows it: in its toolset, with its settings, and compiled at its first use. */
import { qualifiedName } from "../core/call.ts";
import { ToolError, pickHints } from "../core/error.ts";
import type { CallSettings, Tool, ToolCategory } from "../core/tool.ts";
import type { Toolset } from "../core/toolset.ts";
import type { Permission } from "../policy/permission.ts";
import { compileSchema, type Validator } from "../schema/compile-schema.ts";
import { defaultWarnings, type RepairOptions } from "../schema/repair/repair-input.ts";
import { schemaFingerprint } from "../schema/fingerprint.ts";
import type { ValidationResult } from "../schema/validation-result.ts";
import { inheritSettings } from "../core/call-settings.ts";
import { checkAcceptsObjects } from "./object-input.ts";
import { checkInput } from "./check-input.ts";
import { repairOptionsOf } from "./input-repair.ts";

interface Compiled {
  readonly input: Validator;
  readonly output: Validator | undefined;
}

export interface Registration {
  readonly toolset: Toolset;
  readonly inherited: Required<CallSettings>;
  readonly blocked: ToolError | undefined;
  readonly permission: Permission | undefined;
  /** Whether `format` is checked in inputs. */
  readonly formats: boolean;
}

/**
 * A tool in a registry. Only the registry creates instances.
 *
 * Schemas are compiled and hashed at their first use, so that a hundred thousand tools load at once. A schema that cannot be used quarantines only
 * its own tool, and so does the tool's field `unusable`: see `quarantine`.
 */
export class RegisteredTool {
  readonly tool: Tool;
  readonly toolset: Toolset;
  readonly qualifiedName: string;
  /** The settings of its calls: its own, or else those of its toolset, or else those of the runtime. */
  readonly settings: Required<CallSettings>;
  /** Why it must not be called although it is valid, for example because its definition differs from the pinned one. */
  readonly blocked: ToolError | undefined;
  /** Why the permission rules deny it, for the operator. A denied tool is neither offered nor run. */
  readonly denied: string | undefined;
  /** Changed by the registry only: see `Registry.setEnabled`. */
  enabled: boolean;
  /** Whether its `warnings` were logged. */
  hasWarned = false;
  readonly #formats: boolean;
  /** Undefined until the schemas are used. */
  #compiled: Compiled | undefined = undefined;
  /** Schemas that were compiled only to check them. Not kept, as those of thousands of tools that are never called would take gigabytes. */
  #recent: WeakRef<Compiled> | undefined = undefined;
  #isChecked = false;
  #quarantine: ToolError | undefined = undefined;
  #warnings: readonly string[] | undefined = undefined;
  #fingerprint: string | undefined = undefined;

  constructor(tool: Tool, { toolset, inherited, blocked, permission, formats }: Registration) {
    this.tool = tool;
    this.toolset = toolset;
    this.blocked = blocked;
    this.qualifiedName = qualifiedName(toolset.name, tool.name);
    this.denied = permission?.(this.qualifiedName);
    this.settings = inheritSettings(tool, inherited);
    // a library that parses the input defines its own formats
    this.#formats = formats && tool.parseInput === undefined;
    this.enabled = tool.enabled !== false;
  }

  /** How the loop handles it: its own category, or else `SAFE_CHAIN`. A category never declares a read. */
  get category(): ToolCategory {
    return this.tool.category ?? "SAFE_CHAIN";
  }

  /** Identifies the input schema among overloads, independent of the order of keys. @throws ToolError `unavailable` if it cannot be hashed */
  get fingerprint(): string {
    this.#fingerprint ??= this.#hash();
    return this.#fingerprint;
  }

  /** @throws ToolError the reason of the quarantine */
  get inputValidator(): Validator {
    return (this.#compiled ?? this.#keepSchemas()).input;
  }

  /** Undefined if the tool has no output schema. @throws ToolError the reason of the quarantine */
  get outputValidator(): Validator | undefined {
    return (this.#compiled ?? this.#keepSchemas()).output;
  }

  /** Why the tool cannot be used: it is blocked, or `unavailable` with its own reason or the place in the schema. Undefined if it can be used. */
  get quarantine(): ToolError | undefined {
    if (!this.#isChecked) this.#check();
    return this.#quarantine;
  }

  /** Faults that do not prevent the tool from being used: defaults that violate their own schema. Compiles the schema. */
  get warnings(): readonly string[] {
    if (this.quarantine !== undefined) return [];
    return (this.#warnings ??= defaultWarnings(this.#getSchemas().input));
  }

  /** The repairs allowed for its inputs: see `repairOptionsOf`. */
  get repairs(): RepairOptions {
    return repairOptionsOf(this.tool);
  }

  /**
   * Checks an input as a call of the tool would, including repairs and the tool's own rules, without running the tool.
   *
   * Rejects with the reason of the quarantine, and with errors that the tool's rules throw.
   */
  async validate(input: unknown): Promise<ValidationResult> {
    return await checkInput(this.tool, this.inputValidator, { ...this.repairs, given: input });
  }

  #check(): void {
    const checked = this.#compile();
    if (checked instanceof ToolError) this.#quarantine = checked;
    else this.#recent = new WeakRef(checked);
    this.#isChecked = true;
  }

  #keepSchemas(): Compiled {
    this.#compiled = this.#getSchemas();
    this.#recent = undefined;
    return this.#compiled;
  }

  #getSchemas(): Compiled {
    if (this.quarantine !== undefined) throw this.quarantine;
    const compiled = this.#compiled ?? this.#recent?.deref() ?? this.#compile();
    if (compiled instanceof ToolError) throw compiled; // its schema was changed after it was checked
    return compiled;
  }

  #compile(): Compiled | ToolError {
    if (this.blocked !== undefined) return this.blocked;
    const { inputSchema, outputSchema, unusable } = this.tool;
    if (unusable !== undefined) {
      const message = `The tool ${JSON.stringify(this.qualifiedName)} cannot be used: ${unusable}`;
      return new ToolError("unavailable", message, { outcome: "not_started" });
    }
    let part = "input";
    try {
      const input = compileSchema(inputSchema, { formats: this.#formats });
      checkAcceptsObjects(inputSchema);
      part = "output";
      return { input, output: outputSchema === undefined ? undefined : compileSchema(outputSchema) };
    } catch (error: unknown) {
      return this.#unusable(part, error);
    }
  }

  #hash(): string {
    try {
      return schemaFingerprint(this.tool.inputSchema);
    } catch (error: unknown) {
      throw this.#unusable("input", error);
    }
  }

  #unusable(part: string, error: unknown): ToolError {
    const cause = ToolError.fromUnknown(error, "invalid_schema");
    return new ToolError(
      "unavailable",
      `The tool ${JSON.stringify(this.qualifiedName)} cannot be used because its ${part} schema is wrong: ${cause.message}`,
      {
        details: cause.details,
        hint: "Correct the schema and register the tool again; the other tools are not affected.",
        ...pickHints(cause),
        cause,
      },
    );
  }
}
