/** A value as JSON text. While the text is not JSON, the value does not change and nothing is sent. */
import { useEffect, useState, type ReactNode } from "react";
import { showHiddenCharacters } from "../show/text-pieces.ts";
import { parseTypedJson } from "./typed-value.ts";

interface JsonFieldProps {
  readonly id: string;
  readonly "aria-describedby"?: string;
  readonly value: unknown;
  readonly path: string;
  readonly rows?: number;
  readonly onChange: (value: unknown) => void;
  readonly onUnreadable: (path: string, isUnreadable: boolean) => void;
}

export function JsonField({ id, value, path, rows = 3, onChange, onUnreadable, ...rest }: JsonFieldProps): ReactNode {
  const [typed, setTyped] = useState<string>();
  const problem = typed === undefined ? undefined : parseTypedJson(typed).problem;
  // Changes of other fields are shown here, unless this field is being edited.
  const shown = typed ?? (value === undefined ? "" : JSON.stringify(value, undefined, 2));
  const isUnreadable = problem !== undefined;
  useEffect(() => {
    if (isUnreadable) onUnreadable(path, true);
    return () => onUnreadable(path, false);
  }, [path, isUnreadable, onUnreadable]);
  return (
    <>
      <textarea
        id={id}
        className="mono"
        rows={rows}
        spellCheck={false}
        aria-describedby={rest["aria-describedby"]}
        aria-invalid={problem !== undefined}
        value={shown}
        onChange={({ target }) => {
          const text = target.value;
          const read = parseTypedJson(text);
          setTyped(text);
          if (read.problem === undefined) onChange(read.value);
        }}
        onBlur={() => problem === undefined && setTyped(undefined)}
      />
      {problem !== undefined && <p className="inline-failure">{showHiddenCharacters(problem)}</p>}
    </>
  );
}
