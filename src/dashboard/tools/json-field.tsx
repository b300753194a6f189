/** A value as JSON text. While the text is not JSON, the value stays as it was and nothing is sent. */
import { useEffect, useState, type ReactNode } from "react";

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
  const problem = typed === undefined ? undefined : problemOf(typed);
  // Changes of other fields show here, unless this one is being edited.
  const shown = typed ?? (value === undefined ? "" : JSON.stringify(value, undefined, 2));
  useEffect(() => () => onUnreadable(path, false), [path, onUnreadable]);
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
          const isBad = problemOf(text) !== undefined;
          setTyped(text);
          onUnreadable(path, isBad);
          if (!isBad) onChange(text.trim() === "" ? undefined : JSON.parse(text));
        }}
        onBlur={() => problem === undefined && setTyped(undefined)}
      />
      {problem !== undefined && <p className="inline-failure">{problem}</p>}
    </>
  );
}

function problemOf(text: string): string | undefined {
  if (text.trim() === "") return undefined;
  try {
    JSON.parse(text);
    return undefined;
  } catch (thrown: unknown) {
    return `This is not JSON: ${thrown instanceof Error ? thrown.message.slice(0, 200) : String(thrown)}`;
  }
}
