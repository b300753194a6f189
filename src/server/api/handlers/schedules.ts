/** Handlers of the routes for schedules. */
import { omitUndefined } from "../../../core/base/omit-undefined.ts";
import { ToolError } from "../../../core/error.ts";
import type { RuntimeSession } from "../../../runtime/runtime-session.ts";
import type { SessionTriggers, TriggerStatus } from "../../../triggers/session-triggers.ts";
import type { Triggers } from "../../../triggers/triggers.ts";
import { triggersOf } from "./agents.ts";
import type { Principal } from "../../auth/principal.ts";
import type { ApiSchedule } from "../openapi/component-types.ts";
import type { ApiServices, Handlers } from "../services.ts";
import { checkVisible } from "../sessions/session-ids.ts";
import { useWithin } from "../sessions/use-within.ts";
import { noContent } from "./responses.ts";

const TYPE = "schedule";

export const scheduleHandlers = {
  async listSchedules({ runtime, principal, query }, services) {
    const { triggers } = services;
    if (triggers === undefined) return { schedules: [] };
    const { sessionId = principal.sessionId } = query;
    if (sessionId === undefined) return { schedules: runtime.sessions.list().flatMap((session) => listSchedulesOf(triggers, session)) };
    checkVisible(principal, sessionId);
    return useWithin(sessionId, (session) => ({ schedules: listSchedulesOf(triggers, session) }), services);
  },

  addSchedule({ principal, body: { sessionId, ...definition } }, services) {
    checkVisible(principal, sessionId);
    const triggers = triggersOf(services);
    const add = async (session: RuntimeSession): Promise<ApiSchedule> =>
      toApiSchedule(triggers, session, await triggers.of(session).add({ ...definition, type: TYPE }));
    return useWithin(sessionId, add, services);
  },

  pauseSchedule(request, services) {
    return useSchedule(request, services, async ({ own, id, toApi }) => toApi(await own.pause(id)));
  },

  resumeSchedule(request, services) {
    return useSchedule(request, services, async ({ own, id, toApi }) => toApi(await own.resume(id)));
  },

  removeSchedule(request, services) {
    return useSchedule(request, services, async ({ own, id }) => {
      if (!(await own.remove(id))) throw noSchedule(id);
      return noContent();
    });
  },
} satisfies Partial<Handlers>;

interface ScheduleRequest {
  readonly principal: Principal;
  readonly params: { readonly scheduleId: string };
  readonly query: { readonly sessionId?: string };
}

interface ScheduleInUse {
  readonly own: SessionTriggers;
  readonly id: string;
  /** The schedule for the response. @throws ToolError `not_found` if it was removed meanwhile */
  readonly toApi: (status: TriggerStatus | undefined) => ApiSchedule;
}

/** Runs `use` with a schedule, in its session. @throws ToolError `not_found`, `conflict`, as a rejection */
async function useSchedule<Answer>(
  { principal, params: { scheduleId: id }, query }: ScheduleRequest,
  services: ApiServices,
  use: (schedule: ScheduleInUse) => Promise<Answer>,
): Promise<Answer> {
  const triggers = triggersOf(services);
  const sessionId = query.sessionId ?? principal.sessionId ?? findSessionWith(id, triggers, services);
  checkVisible(principal, sessionId);
  const useOwn = (session: RuntimeSession): Promise<Answer> => {
    const own = triggers.of(session);
    if (own.get(id)?.type !== TYPE) throw noSchedule(id);
    const toApi = (status: TriggerStatus | undefined): ApiSchedule => {
      if (status === undefined) throw noSchedule(id);
      return toApiSchedule(triggers, session, status);
    };
    return use({ own, id, toApi });
  };
  return useWithin(sessionId, useOwn, services);
}

/** The id of the open session that has a schedule with this id. @throws ToolError `not_found`; `conflict` if several have one */
function findSessionWith(scheduleId: string, triggers: Triggers, { runtime }: ApiServices): string {
  const [one, ...more] = runtime.sessions.list().filter((session) => triggers.of(session).get(scheduleId)?.type === TYPE);
  if (one === undefined) throw noSchedule(scheduleId);
  if (more.length === 0) return one.id;
  throw new ToolError("conflict", `Several sessions have a schedule ${JSON.stringify(scheduleId.slice(0, 200))}.`, {
    hint: "Name its session with ?sessionId=.",
  });
}

function listSchedulesOf(triggers: Triggers, session: RuntimeSession): readonly ApiSchedule[] {
  const own = triggers.of(session).list();
  return own.filter(({ type }) => type === TYPE).map((status) => toApiSchedule(triggers, session, status));
}

function toApiSchedule(triggers: Triggers, session: RuntimeSession, { type: _type, ...status }: TriggerStatus): ApiSchedule {
  return { ...status, sessionId: session.id, ...omitUndefined({ nextAt: triggers.of(session).nextAt(status.id) }) };
}

function noSchedule(id: string): ToolError {
  return new ToolError("not_found", `There is no schedule ${JSON.stringify(id.slice(0, 200))} in the sessions that are open.`, {
    hint: "GET /v1/schedules lists them; ?sessionId= names a session that is not open.",
  });
}
