import { z } from 'zod';
import { type Exchange, ok, type Reply } from '../http/exchange.js';
import { notFound, Problem } from '../http/problem.js';
import type { Route } from '../http/route.js';
import { controlRoute } from '../sandbox/control/control-route.js';
import { one, run } from '../state/statements.js';
import type { IntentAction } from './action.js';

const rolloutBody = z.strictObject({
  /** Null: the action is available to every user. */
  users: z.array(z.string()).max(100).nullable(),
});

/** Sets the users an action is rolled out to: `PUT /_sandbox/rollouts/comments.create {users: ["usr_…"]}`. */
export function rolloutControl(actions: readonly IntentAction[]): readonly Route[] {
  return [
    controlRoute('PUT', '/_sandbox/rollouts/{action}', rolloutBody, (exchange, body) => {
      const action = exchange.params.action ?? '';
      if (!actions.some(({ name }) => name === action)) throw notFound('The action');
      return setRollout(exchange, action, body.users);
    }),
  ];
}

function setRollout(exchange: Exchange, action: string, users: readonly string[] | null): Reply {
  const { state } = exchange.services;
  state.transaction(() => {
    run(state, 'DELETE FROM action_rollouts WHERE action = ?', [action]);
    if (users === null) return;
    run(state, 'INSERT INTO action_rollouts (action) VALUES (?)', [action]);
    for (const id of users) {
      const user = one<{ no: number }>(state, 'SELECT no FROM users WHERE id = ?', [id]);
      if (user === undefined) throw new Problem(400, 'invalid_params', `users: ${id} is not a user.`);
      run(state, 'INSERT OR IGNORE INTO action_rollout_users (action, user_no) VALUES (?, ?)', [
        action,
        user.no,
      ]);
    }
  })();
  return ok({ action, users });
}
