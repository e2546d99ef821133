import { z } from 'zod';
import { programScopes } from '../contract/scopes.js';
import { ok } from '../http/exchange.js';
import type { Route } from '../http/route.js';
import { controlRoute } from '../sandbox/control/control-route.js';
import { applicationByNo, changeApplication } from './model.js';
import { namedApplication } from './named.js';
import { assignProgramScopes } from './scope-edits.js';
import { approveIdentity, decideReview, suspend } from './standing.js';

const standing = z.strictObject({
  approved: z.boolean().optional(),
  piiApproved: z.boolean().optional(),
  suspended: z.boolean().optional(),
  /** Where the browser goes after an install link. The API sets it too. */
  setupUrl: z
    .url({ protocol: /^https?$/ })
    .nullable()
    .optional(),
  /** The scopes of the platform's programs that the application has from now on. */
  programScopes: z.array(z.enum(programScopes)).optional(),
});

/** Decisions the platform makes about an application. In a sandbox the tester makes them with control calls. */
export const applicationControl: readonly Route[] = [
  controlRoute('PATCH', '/_sandbox/applications/{id}', standing, (exchange, body) => {
    const { services, now } = exchange;
    const app = namedApplication(services.state, exchange.params.id ?? '');
    services.state.transaction(() => {
      if (body.approved !== undefined) decideReview(services, app, body.approved, now);
      if (body.piiApproved !== undefined) approveIdentity(services, app, body.piiApproved);
      if (body.suspended !== undefined) suspend(services, app, body.suspended);
      if (body.setupUrl !== undefined)
        changeApplication(services.state, app.no, { ...app, setupUrl: body.setupUrl });
      if (body.programScopes !== undefined) assignProgramScopes(services, app, body.programScopes, now);
    })();
    const { id, status, approved_at, piiApproved, scopes, setupUrl } = applicationByNo(
      services.state,
      app.no,
    );
    return ok({ id, status, approved: approved_at !== null, piiApproved, scopes, setupUrl });
  }),
];
