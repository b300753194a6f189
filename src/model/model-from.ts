/** Makes a model from the name of its provider and its own: `anthropic/claude-sonnet`. */
import { ToolError } from "../core/error.ts";
import { wrongTypeError } from "../core/check-argument.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import type { Model } from "../core/model.ts";
import { HTTP_MODEL_OPTIONS, httpModel, type HttpModelOptions } from "./http-model.ts";
import { resolveProviderName, checkProvider, splitSpec } from "./provider-names.ts";
import { PROVIDERS, type Provider } from "./providers.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";

/** The settings of an `httpModel` without those that follow from the provider. */
export interface ModelSpec extends Omit<HttpModelOptions, "format" | "model" | "baseUrl" | "keyHeader"> {
  /** A name of `PROVIDERS`, or an alias (`google`, `azure`). */
  readonly provider: string;
  /** The model's name at the provider. */
  readonly model: string;
  /** @default the address of the provider */
  readonly baseUrl?: string;
}

/** Settings shared by all models that are made. */
export interface ModelContext extends Pick<HttpModelOptions, "fetch" | "ports" | "meter" | "onRetry" | "onNotes"> {
  /** The variables in which keys and addresses are looked up. @default process.env */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

const { format: _format, keyHeader: _keyHeader, ...OF_SPECS } = HTTP_MODEL_OPTIONS;
const SPEC: OptionNames<ModelSpec> = { ...OF_SPECS, provider: true };
const CONTEXT: OptionNames<ModelContext> = {
  environment: "object",
  fetch: "function",
  ports: "object",
  meter: "object",
  onRetry: "function",
  onNotes: "function",
};

/**
 * Makes the model that a string or an object names. The part of a string before the first `/` is the provider.
 *
 * @throws ToolError `invalid_argument` for an unknown provider, naming the nearest; `invalid_config` if its key or its address is missing, naming the
 * variables
 */
export function modelFrom(spec: string | ModelSpec, context: ModelContext = {}): Model {
  checkKnownKeys(context, CONTEXT, "modelFrom()");
  const { environment = process.env, ...shared } = context;
  if (typeof spec !== "string" && (typeof spec?.provider !== "string" || typeof spec.model !== "string"))
    throw wrongTypeError("A model is a string, provider/model, or { provider, model } with two strings", spec);
  if (typeof spec !== "string") checkKnownKeys(spec, SPEC, "modelFrom()");
  const settings: ModelSpec = typeof spec === "string" ? splitSpec(spec) : spec;
  const { provider: wanted, model, apiKey, baseUrl, headers, ...rest } = settings;
  const name = checkProvider({ provider: wanted, model });
  const provider: Provider = PROVIDERS[name];
  const key = apiKey ?? findKey(provider, environment);
  const { keyHint = formatKeyHint(provider) } = rest;
  if (key === undefined && provider.keyOptional !== true && rest.sign === undefined)
    throw new ToolError("invalid_config", `There is no API key for ${name}.`, { hint: keyHint });
  return httpModel({
    name: `${name}/${model}`,
    ...shared,
    ...rest,
    format: provider.format(),
    model,
    baseUrl: baseUrl ?? resolveBaseUrl(name, provider, environment),
    keyHint,
    headers: { ...provider.headers, ...headers },
    ...omitUndefined({ apiKey: key, keyHeader: provider.keyHeader }),
  });
}

type Environment = NonNullable<ModelContext["environment"]>;

/**
 * Checks that the address of a model is known, without its key.
 *
 * @throws ToolError `invalid_argument` for an unknown provider; `invalid_config` if the address is missing, naming the variable
 */
export function checkAddress({ provider: wanted, baseUrl }: Pick<ModelSpec, "provider" | "baseUrl">, environment: Environment): void {
  const name = resolveProviderName(wanted);
  if (baseUrl === undefined) resolveBaseUrl(name, PROVIDERS[name], environment);
}

function findKey({ keyVariables }: Provider, environment: Environment): string | undefined {
  return keyVariables.map((name) => readVariable(environment, name)).find((key) => key !== undefined);
}

function formatKeyHint({ keyVariables }: Provider): string {
  return `Set ${keyVariables.join(" or ")}, or pass apiKey.`;
}

function resolveBaseUrl(name: string, { baseUrl, baseUrlVariable }: Provider, environment: Environment): string {
  const given = baseUrlVariable === undefined ? undefined : readVariable(environment, baseUrlVariable.name);
  if (given !== undefined) return completeBaseUrl(given, baseUrlVariable?.path ?? "");
  const hint = `Set baseUrl${baseUrlVariable === undefined ? "" : ` or ${baseUrlVariable.name}`}.`;
  if (baseUrl === undefined) throw new ToolError("invalid_config", `The provider ${name} has no default address.`, { hint });
  return baseUrl.replaceAll(/\{(\w+)\}/gu, (_, variable: string) => {
    const value = readVariable(environment, variable);
    if (value !== undefined && /^[A-Za-z0-9-]+$/u.test(value)) return value;
    const problem = value === undefined ? "is not set" : "holds a character that a host name cannot have";
    throw new ToolError("invalid_config", `The address of ${name} needs ${variable}, which ${problem}.`, { hint });
  });
}

/** Adds `http://` to a bare host, and `path` unless the address already ends with it. */
function completeBaseUrl(address: string, path: string): string {
  const url = (/^https?:\/\//iu.test(address) ? address : `http://${address}`).replace(/\/$/u, "");
  return url.endsWith(path) ? url : `${url}${path}`;
}

function readVariable(environment: Environment, name: string): string | undefined {
  const value = Object.hasOwn(environment, name) ? environment[name]?.trim() : undefined;
  return value === "" ? undefined : value;
}
