/** Choices for a replay: where the branch begins, which calls are made, and how they are answered before a live run. */
import type { ReactNode } from "react";
import { SelectField } from "../show/select-field.tsx";
import { formatCount } from "../show/format.ts";

export interface Choices {
  readonly from: "point" | "now";
  readonly through: "one" | "rest";
  readonly answerer: "simulated" | "recorded";
}

interface ReplayChoicesProps {
  readonly choices: Choices;
  readonly onChange: (choices: Choices) => void;
  /** Number of calls after the first. */
  readonly after: number;
}

export function ReplayChoices({ choices, onChange, after }: ReplayChoicesProps): ReactNode {
  return (
    <div className="replay-choices">
      <SelectField
        isField
        label="Branch"
        value={choices.from}
        options={[
          ["point", "from before this call"],
          ["now", "from the session as it is now"],
        ]}
        onChange={(from) => onChange({ ...choices, from })}
      />
      <SelectField
        isField
        label="Calls"
        value={choices.through}
        options={[
          ["one", "this call"],
          ["rest", `this call and the ${formatCount(after)} after it`],
        ]}
        onChange={(through) => onChange({ ...choices, through })}
      />
      <SelectField
        isField
        label="First try"
        value={choices.answerer}
        options={[
          ["simulated", "simulated: reads run, writes are pretended"],
          ["recorded", "recorded: as before, edited calls simulated"],
        ]}
        onChange={(answerer) => onChange({ ...choices, answerer })}
      />
    </div>
  );
}
