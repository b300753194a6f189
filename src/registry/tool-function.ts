/** A function that is also a tool: it is called as before, and has its tool as a property. */
import { ToolError } from "../core/error.ts";
import { isOptionsObject } from "../core/base/wording.ts";
import { checkArgument } from "../core/check-argument.ts";
import type { ToolContext } from "../core/context.ts";
import type { JsonSchema, Tool } from "../core/tool.ts";
import type { InferInput } from "../schema/infer-schema.ts";
import { defineTool, type DefinedTool, type HandlerResult, type SchemaSource, type ToolOptions } from "./define-tool.ts";

/** Options of the tool that is made from a function. */
export interface ToolFunctionOptions<Input extends SchemaSource, Output extends SchemaSource> extends Omit<
  ToolOptions<Input, Output>,
  "name" | "execute"
> {
  /** @default the function's own name */
  readonly name?: string;
  /** If given, the tool is registered in it at once. */
  readonly registry?: { register(tool: Tool): unknown };
}

/** The original function type, with the tool as a property. */
export type ToolFunction<Handler, Input extends SchemaSource, Output extends SchemaSource> = Handler & {
  readonly tool: DefinedTool<Input, Output>;
};

/**
 * Makes a tool of a function. Returns a function that behaves like the given one and has the tool as `.tool`.
 *
 * Called directly, it checks nothing; checks, repairs and everything else happen when the tool is called. The given function is not changed.
 *
 * @throws ToolError as `defineTool`, and `invalid_argument` for an empty description, since JavaScript keeps no doc comments to fall back on
 */
export function toolFunction<
  const Input extends SchemaSource,
  const Output extends SchemaSource = JsonSchema,
  Handler extends (input: InferInput<Input>, context: ToolContext) => HandlerResult<Output> = (
    input: InferInput<Input>,
    context: ToolContext,
  ) => HandlerResult<Output>,
>(options: ToolFunctionOptions<Input, Output>, handler: Handler): ToolFunction<Handler, Input, Output> {
  if (typeof handler !== "function") throw new ToolError("invalid_argument", "toolFunction() takes a function as its second argument.");
  const hint = 'For example toolFunction({ description: "Adds two numbers.", inputSchema }, function add({ a, b }) {}).';
  checkArgument(isOptionsObject(options), "toolFunction()", "the fields of a tool as its first argument", options, hint);
  const { registry, name = handler.name, ...fields } = options;
  if (typeof fields.description !== "string" || fields.description.trim() === "") {
    throw new ToolError("invalid_argument", `Tool ${JSON.stringify(name)} has no description.`, {
      hint: "Give one in the options: JavaScript does not keep a function's comments.",
    });
  }
  const tool = defineTool<Input, Output>({ ...fields, name, execute: handler });
  const callable = function (this: unknown, ...parameters: unknown[]): unknown {
    return Reflect.apply(handler, this, parameters);
  };
  Object.defineProperties(callable, {
    name: { value: handler.name, configurable: true },
    length: { value: handler.length, configurable: true },
    tool: { value: tool, enumerable: true },
  });
  registry?.register(tool);
  return callable as unknown as ToolFunction<Handler, Input, Output>; // it passes all arguments on to the handler
}
