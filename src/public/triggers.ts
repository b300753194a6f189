/** Wakes agents by timers, schedules and messages on channels: `haft/triggers`. @packageDocumentation */
export { createChannels } from "../triggers/channels.ts";
export type { ChannelOwner, Channels, ChannelsOptions } from "../triggers/channels.ts";
export type { Channel, ChannelKind, ChannelOptions, SendMessageOptions, SubscribeOptions } from "../triggers/channel.ts";
export type { ChannelMessage } from "../triggers/channel-message.ts";
export type { ReceiveMessageOptions, Subscription } from "../triggers/subscription.ts";
export { createTriggers } from "../triggers/triggers.ts";
export type { Triggers, TriggersOptions } from "../triggers/triggers.ts";
export type { NamedTrigger, SessionTriggers, TriggerDefinition, TriggerStatus } from "../triggers/session-triggers.ts";
export type { FireOptions, Stop, Trigger, TriggerContext, TriggerScope } from "../triggers/trigger.ts";
export type { TriggerSession } from "../triggers/trigger-session.ts";
export type { ChannelTriggerSettings } from "../triggers/channel-trigger.ts";
export type { ScheduleSettings } from "../triggers/schedule-trigger.ts";
export type { ScheduleRule } from "../triggers/schedule.ts";
export type { TimerSettings } from "../triggers/timer-trigger.ts";
export { channelsToolset } from "../toolsets/channels.ts";
export type { ChannelsToolsetOptions } from "../toolsets/channels.ts";
export { triggersToolset } from "../toolsets/triggers.ts";
export type { TriggersToolsetOptions } from "../toolsets/triggers.ts";
