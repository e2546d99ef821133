import { z } from 'zod';
import { ok } from '../http/exchange.js';
import { notFound } from '../http/problem.js';
import type { Route } from '../http/route.js';
import { controlRoute } from '../sandbox/control/control-route.js';
import { run } from '../state/statements.js';

const decision = z.strictObject({ status: z.enum(['pending', 'approved', 'rejected']) });

/** The decision of the platform about an application to become a partner. In a sandbox the tester makes it. */
export const attributionControl: readonly Route[] = [
  controlRoute('PATCH', '/_sandbox/attribution/partners/{user}', decision, (exchange, { status }) => {
    const user = exchange.params.user ?? '';
    const { changes } = run(
      exchange.services.state,
      'UPDATE attribution_partners SET status = ? WHERE user_no = (SELECT no FROM users WHERE id = ?)',
      [status, user],
    );
    if (changes === 0) throw notFound('The partner');
    return ok({ user, status });
  }),
];
