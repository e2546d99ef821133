import type { JsonObject } from '../../domain/json.js';
import { Problem } from '../http/problem.js';
import type { Services } from '../services.js';
import type { IntentAction } from './action.js';
import { expireOverdue, type Intent, unfinishedIntents, writeIntent } from './model.js';

/*
 * pending → approved → executing → executed or failed; pending → rejected or expired. The approval is a separate commit:
 * if the process ends before the action ran, the next process runs it. The action and the record of its execution are
 * one commit.
 */

export function approve(
  services: Services,
  action: IntentAction,
  intent: Intent,
  approverNo: number,
  now: number,
): Intent {
  const columns = { status: 'approved', decided_by_no: approverNo, approved_at: now } as const;
  return execute(services, action, writeIntent(services.state, intent, columns, now), now);
}

export function reject(
  services: Services,
  intent: Intent,
  userNo: number,
  reason: string,
  now: number,
): Intent {
  const columns = { status: 'rejected', decided_by_no: userNo, rejection_reason: reason } as const;
  return writeIntent(services.state, intent, columns, now);
}

function execute(services: Services, action: IntentAction, intent: Intent, now: number): Intent {
  const { state } = services;
  if (intent.decided_by_no === null) throw new Error('an approved intent has no approver');
  const approverNo = intent.decided_by_no;
  const running = writeIntent(state, intent, { status: 'executing' }, now);
  try {
    return state.transaction(() => {
      // Check the permission again: it may have changed since the page was opened.
      if (!action.mayDecide(services, running, approverNo)) {
        throw new Problem(403, 'forbidden', 'The person who approved may no longer decide this.');
      }
      const result: JsonObject = action.execute(services, running, approverNo, now);
      const done = {
        status: 'executed',
        executed_at: now,
        execution_result: JSON.stringify(result),
      } as const;
      return writeIntent(state, running, done, now);
    })();
  } catch (error) {
    const known = error instanceof Problem;
    if (!known)
      services.logger.error(
        { component: 'intents', event: intent.action, eventId: intent.id, error },
        'intent crashed',
      );
    const failure = known ? error.message : 'Something went wrong on our side.';
    return writeIntent(state, running, { status: 'failed', failure_reason: failure }, now);
  }
}

export const settleIntents =
  (actions: readonly IntentAction[]) =>
  (services: Services, now: number): void => {
    expireOverdue(services.state, now);
    for (const intent of unfinishedIntents(services.state)) {
      const action = actions.find(({ name }) => name === intent.action);
      if (action !== undefined) execute(services, action, intent, now);
    }
  };
