import { type Application, managesOrganization } from '../applications/model.js';
import type { State } from '../state/database.js';
import type { Realm } from '../state/secrets.js';

/** Until review, a live key works only for the people who manage the application's organization. Test keys always. */
export function passesReview(state: State, app: Application, realm: Realm, userNo: number): boolean {
  return (
    realm === 'test' || app.approved_at !== null || managesOrganization(state, app.organization_no, userNo)
  );
}
