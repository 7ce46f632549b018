import type { Condition, TriggerAction, Watched } from "../../protocol/index.ts";

/** When it fires, in words. */
export function conditionIn({ when }: { when: Condition }): string {
  switch (when.type) {
    case "scheduled":
      return `scheduled "${when.config.cron}" (${when.config.time_zone})`;
    case "delayed":
      return `delayed by ${when.config.delay_seconds} s`;
    case "at_time":
      return `at_time ${when.config.at} (${when.config.time_zone})`;
    case "heartbeat":
      return `heartbeat every ${when.config.interval_seconds} s`;
    case "on_event":
      return `on_event ${when.config.event_pattern}${when.config.filter ? ` ${JSON.stringify(when.config.filter)}` : ""}`;
    case "on_idle":
      return `on_idle for ${when.config.idle_seconds} s`;
    case "on_change":
      return `on_change of ${watchedIn(when.config)}, checked every ${when.config.every_seconds} s`;
  }
}

/** What is looked at, in words. */
export function watchedIn({ path, url, command }: Watched): string {
  return url ?? path ?? `the output of ${command}`;
}

/** What happens then, in words. */
export function actionIn({ type, payload }: TriggerAction): string {
  switch (type) {
    case "wake_agent":
      return `wake up with "${payload.task}"`;
    case "run_node":
      return `run ${payload.node_id}`;
    case "send_message":
      return `write to ${payload.to}: "${payload.content}"`;
    case "run_callback":
      return `call ${payload.name}`;
  }
}
