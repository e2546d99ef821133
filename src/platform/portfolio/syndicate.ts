import { callerOf, type Exchange } from '../http/exchange.js';
import { notFound, Problem } from '../http/problem.js';
import { one } from '../state/statements.js';

/** Returns the syndicate of the path. Requires a manager, an installation on it, or its own key. */
export function managedSyndicate(exchange: Exchange): number {
  const { state } = exchange.services;
  const caller = callerOf(exchange);
  const id = exchange.params.syndicate_id ?? '';
  const no = one<{ no: number }>(state, 'SELECT no FROM syndicates WHERE id = ? AND realm = ?', [
    id,
    caller.realm,
  ])?.no;
  if (no === undefined) throw notFound('The syndicate');
  switch (caller.kind) {
    case 'user': {
      const manages = one(state, 'SELECT 1 FROM syndicate_managers WHERE syndicate_no = ? AND user_no = ?', [
        no,
        caller.userNo,
      ]);
      if (manages === undefined) throw notFound('The syndicate');
      return no;
    }
    case 'installation':
    case 'syndicate_key':
      if (caller.syndicateNo === no) return no;
      throw new Problem(403, 'forbidden', 'This token is bound to something else.', {
        remediation: 'Use the token of the installation on this syndicate.',
      });
    default:
      throw new Problem(403, 'forbidden', 'This operation needs the token of a user or of a syndicate.');
  }
}
