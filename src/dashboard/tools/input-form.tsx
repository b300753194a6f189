/** The input of a call as a form made from its schema, as JSON, and with the server's check of it. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useCallback, useId, type Dispatch, type ReactNode, type SetStateAction } from "react";
import { useConnection } from "../server/use-connection.ts";
import { useDebounced } from "../show/use-debounced.ts";
import { JsonField } from "./json-field.tsx";
import type { Schema } from "./field-shape.ts";
import { SchemaField } from "./schema-field.tsx";
import { InputCheck } from "./input-check.tsx";

/** The paths of fields whose text is not a valid value. */
export type UnreadablePaths = ReadonlySet<string>;
export const NO_UNREADABLE_PATHS: UnreadablePaths = new Set();

interface InputFormProps {
  readonly toolName: string;
  readonly schema: Schema;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
  /** Fields that are not valid values; nothing may be sent while there are any. */
  readonly unreadable: UnreadablePaths;
  readonly onUnreadable: Dispatch<SetStateAction<UnreadablePaths>>;
}

export function InputForm({ toolName, schema, value, onChange, unreadable, onUnreadable }: InputFormProps): ReactNode {
  const { client } = useConnection();
  const id = useId();
  const noteUnreadable = useCallback(
    (path: string, isBad: boolean) => onUnreadable((last) => toggleUnreadable(last, path, isBad)),
    [onUnreadable],
  );
  const debouncedValue = useDebounced(value);
  const check = useQuery({
    queryKey: ["check", toolName, debouncedValue],
    queryFn: ({ signal }) => client.call("checkTool", { params: { toolName }, body: { input: castJson(debouncedValue) }, signal }),
    enabled: unreadable.size === 0,
    placeholderData: keepPreviousData,
  });
  return (
    <>
      <div className="try">
        <div className="try-form">
          <SchemaField
            name="input"
            schema={schema}
            root={schema}
            value={value}
            isRequired
            depth={0}
            path=""
            onChange={onChange}
            onUnreadable={noteUnreadable}
          />
        </div>
        <div className="field">
          <label className="field-name" htmlFor={id}>
            JSON
          </label>
          <JsonField id={id} rows={10} value={value} path="#" onChange={(next) => onChange(next ?? {})} onUnreadable={noteUnreadable} />
        </div>
      </div>
      <InputCheck unreadable={unreadable} check={check.data} failure={check.error} />
    </>
  );
}

/** Casts an input of a form, which is always JSON. */
export function castJson(value: unknown): null {
  return (value ?? null) as null;
}

function toggleUnreadable(last: UnreadablePaths, path: string, isBad: boolean): UnreadablePaths {
  if (last.has(path) === isBad) return last;
  const next = new Set(last);
  if (isBad) next.add(path);
  else next.delete(path);
  return next;
}
