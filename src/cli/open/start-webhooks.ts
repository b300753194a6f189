import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { ToolError } from "../../core/error.ts";
import { systemPorts } from "../../core/system/system-ports.ts";
import { isLoopback } from "../../config/trust/server-rights.ts";
import type { WebhookConfig } from "../../config/tables/webhooks-config.ts";
import { decodeWebhookSecret } from "../../server/webhooks/sign-webhook.ts";
import { WebhookSender, type WebhookOptions } from "../../server/webhooks/webhook-sender.ts";
import type { CommandContext } from "../command.ts";
import { stderrPorts, type OpenRuntime } from "./open-runtime.ts";

/** Starts to send the webhooks of a configuration. The returned function stops it. @throws ToolError `invalid_config`, as a rejection */
export async function startWebhooks(context: CommandContext, { runtime, config }: OpenRuntime): Promise<() => Promise<void>> {
  const { webhooks } = config.config;
  if (webhooks === undefined) return async () => {};
  const { store } = runtime;
  if (store === undefined)
    throw new ToolError(
      "invalid_config",
      "The webhooks of the configuration need a store: messages are kept there until they have arrived.",
      {
        operatorHint: "Add a table [store] to the configuration, or give --store.",
      },
    );
  const sender = new WebhookSender({
    store,
    webhooks: webhooks.map((webhook, index) => optionsOf(webhook, { index, environment: context.environment })),
    allowPrivate: webhooks.flatMap(({ url, allowPrivate = [] }) => [...allowPrivate, ...(isLoopback(url) ? [new URL(url).host] : [])]),
    ports: { ...systemPorts, ...stderrPorts(context) },
  });
  await sender.start();
  return () => sender.close();
}

interface Place {
  readonly index: number;
  readonly environment: CommandContext["environment"];
}

function optionsOf({ url, secret, events }: WebhookConfig, { index, environment }: Place): WebhookOptions {
  const name = secret.slice("env:".length);
  const value = environment[name];
  if (value === undefined || value === "")
    throw new ToolError("invalid_config", `webhooks[${index}].secret: the environment variable ${name} is not set.`);
  const options = { url, secret: value, ...omitUndefined({ types: events }) };
  try {
    decodeWebhookSecret(value);
  } catch (thrown: unknown) {
    const { message, hint } = ToolError.fromUnknown(thrown);
    throw new ToolError(
      "invalid_config",
      `webhooks[${index}].secret: the variable ${name} cannot be used. ${message}`,
      omitUndefined({ operatorHint: hint }),
    );
  }
  return options;
}
