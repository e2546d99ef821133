import type { z } from 'zod';
import { parseInstant } from '../../domain/instant.js';
import type { JsonObject } from '../../domain/json.js';
import { listActivity } from '../contract/activity.js';
import { type Exchange, ok, type Reply, userOf } from '../http/exchange.js';
import { pageOf, pageSizeOf } from '../http/paging.js';
import { badParameter } from '../http/problem.js';
import { type Route, route } from '../http/route.js';
import { guarded } from '../http/steps/guarded.js';
import { all } from '../state/statements.js';

export const activityRoutes: readonly Route[] = [route(listActivity, ...guarded, answerActivity)];

interface Row {
  readonly id: string;
  readonly application_no: number;
  readonly application_name: string;
  readonly action: string;
  readonly resource_type: string;
  readonly resource_id: string;
  readonly resource_label: string | null;
  readonly old_values: string | null;
  readonly new_values: string | null;
  readonly status: 'success' | 'failure' | 'denied';
  readonly error_message: string | null;
  readonly occurred_at: number;
}

type Query = z.output<typeof listActivity.query>;

function answerActivity(exchange: Exchange<typeof listActivity>): Reply {
  const query = exchange.input.query;
  const { state } = exchange.services;
  const { userNo, realm } = userOf(exchange);
  const keeps = keeperOf(query);
  const events = all<Row>(
    state,
    `SELECT e.*, a.name AS application_name FROM audit_events e JOIN applications a ON a.no = e.application_no
     WHERE e.user_no = ? AND e.realm = ?`,
    [userNo, realm],
  ).filter(keeps);
  const page = pageOf(state, events, (event) => [-event.occurred_at, event.id], {
    cursor: query.cursor,
    size: pageSizeOf(query.per_page),
    list: `activity:${userNo}`,
  });
  return ok({ data: page.items.map(eventResource), meta: page.meta });
}

function keeperOf(query: Query): (event: Row) => boolean {
  if ((query.resource_type === undefined) !== (query.resource_id === undefined)) {
    const missing = query.resource_type === undefined ? 'resource_type' : 'resource_id';
    throw badParameter(missing, 'resource_type and resource_id are given together or not at all.');
  }
  const since = momentOf('since', query.since) ?? Number.NEGATIVE_INFINITY;
  const until = momentOf('until', query.until) ?? Number.POSITIVE_INFINITY;
  const pattern = query.action_pattern;
  return (event) =>
    (query.app_id === undefined || event.application_no === Number(query.app_id)) &&
    (pattern === undefined || matchesGlob(event.action, pattern)) &&
    (query.resource_type === undefined || event.resource_type === query.resource_type) &&
    (query.resource_id === undefined || event.resource_id === query.resource_id) &&
    (query.status === undefined || event.status === query.status) &&
    event.occurred_at >= since &&
    event.occurred_at <= until;
}

/** `*` matches any text. Each part is searched once, left to right, so no pattern can make the match slow. */
function matchesGlob(text: string, pattern: string): boolean {
  const [head = '', ...parts] = pattern.split('*');
  const tail = parts.pop();
  if (tail === undefined) return text === pattern;
  if (!text.startsWith(head) || !text.endsWith(tail) || text.length < head.length + tail.length) return false;
  let at = head.length;
  for (const part of parts) {
    const found = text.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at <= text.length - tail.length;
}

function momentOf(parameter: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const instant = parseInstant(text);
  if (instant === undefined)
    throw badParameter(parameter, `${parameter} must be an ISO 8601 time with a zone.`);
  return Date.parse(instant);
}

function eventResource(event: Row): object {
  const values = (text: string | null) => (text === null ? null : (JSON.parse(text) as JsonObject));
  const [before, after] = [values(event.old_values), values(event.new_values)];
  const keys = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  const at = new Date(event.occurred_at).toISOString();
  return {
    id: event.id,
    type: 'audit_event',
    attributes: {
      occurred_at: at,
      actor_type: 'application',
      actor_name: event.application_name,
      action: event.action,
      resource_type: event.resource_type,
      resource_id: event.resource_id,
      resource_label: event.resource_label,
      old_values: before,
      new_values: after,
      changed_fields: keys.filter((key) => JSON.stringify(before?.[key]) !== JSON.stringify(after?.[key])),
      status: event.status,
      error_message: event.error_message,
      intent_id: null,
      intent: null,
      created_at: at,
    },
  };
}
