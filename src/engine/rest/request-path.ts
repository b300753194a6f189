/** Fills in the placeholders of a path, so that no value can lead to another path. */
import { ToolError } from "../../core/error.ts";
import type { JsonObject, JsonValue } from "../../core/base/json.ts";
import type { HttpOperation, HttpParameter } from "./http-operation.ts";
import { percentEncode } from "./percent-encode.ts";
import { pathText } from "./serialize-value.ts";
import { valueText } from "../../core/content.ts";

const PLACEHOLDER = /\{([^{}]+)\}/gu;

/** The parameter of a placeholder. An undeclared one is taken from the input under its own name. */
function parameterOf(operation: HttpOperation, name: string): HttpParameter {
  const declared = operation.parameters.find((parameter) => parameter.in === "path" && parameter.name === name);
  return declared ?? { name, in: "path", key: name, required: true, style: "simple", explode: false };
}

/** The keys of the input that are used in the path. */
export function pathKeys(operation: HttpOperation): readonly string[] {
  return [...operation.path.matchAll(PLACEHOLDER)].map(([, name = ""]) => parameterOf(operation, plainName(name)).key);
}

/** Removes the operators of RFC 6570 that some documents use: `{+name}` and `{name*}` are `name`. */
function plainName(placeholder: string): string {
  return placeholder.replace(/^[+#./;?&]/u, "").replace(/\*$/u, "");
}

/**
 * The path with its values, each percent-encoded so that it stays in its segment.
 *
 * @throws ToolError `invalid_input` if a value is missing, empty, `.` or `..`
 */
export function requestPath(operation: HttpOperation, input: JsonObject): string {
  const filled = pathTemplate(operation).replace(PLACEHOLDER, (_, placeholder: string) => {
    const parameter = parameterOf(operation, plainName(placeholder));
    return parameterText(parameter, input, placeholder.startsWith("+"));
  });
  const [path = ""] = filled.split("?", 1);
  for (const segment of path.split("/")) {
    if (isDotSegment(segment))
      throw new ToolError(
        "invalid_input",
        `The path ${JSON.stringify(path.slice(0, 200))} would lead elsewhere: it has a segment ${JSON.stringify(segment)}.`,
      );
  }
  return filled;
}

/** The literal beginning that every path of the operation shares. */
export function literalPrefix(operation: HttpOperation): string {
  const template = pathTemplate(operation);
  const end = template.search(/[{?]/u);
  return end < 0 ? template : template.slice(0, end);
}

/** The path without a fragment, with which some documents distinguish operations of one path; it is never sent. */
function pathTemplate({ path }: HttpOperation): string {
  const [sent = ""] = path.split("#", 1);
  return sent.startsWith("/") ? sent : `/${sent}`;
}

function isDotSegment(segment: string): boolean {
  const plain = segment.replaceAll(/%2e/giu, ".");
  return plain === "." || plain === "..";
}

function parameterText(parameter: HttpParameter, input: JsonObject, hasSlashes: boolean): string {
  const value = Object.hasOwn(input, parameter.key) ? input[parameter.key] : undefined;
  if (value === undefined || value === null) throw refusedError(parameter, "is missing", "Give it: it is part of the address.");
  const text = parameter.mediaType === undefined ? formatParameter(parameter, value, hasSlashes) : percentEncode(JSON.stringify(value));
  if (text === undefined || text === "" || value === "")
    throw refusedError(parameter, "is empty", "It is part of the address and must not be empty.");
  const parts = hasSlashes ? valueText(value).split("/") : [valueText(value)];
  if (parts.some((part) => part === "." || part === ".." || part === "")) {
    throw refusedError(
      parameter,
      `is ${JSON.stringify(valueText(value).slice(0, 100))}, which would lead to another address`,
      "Give the name or id itself.",
    );
  }
  return text;
}

function formatParameter(parameter: HttpParameter, value: JsonValue, hasSlashes: boolean): string | undefined {
  const slashed = (text: string): string => text.split("/").map(percentEncode).join("/");
  return pathText(parameter, value, hasSlashes ? slashed : percentEncode);
}

function refusedError({ key }: HttpParameter, problem: string, hint: string): ToolError {
  return new ToolError("invalid_input", `The path parameter ${JSON.stringify(key)} ${problem}; nothing was sent.`, { hint });
}
