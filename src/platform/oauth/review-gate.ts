import { type Application, managesOrganization } from '../applications/model.js';
import type { State } from '../state/database.js';
import type { Realm } from '../state/secrets.js';

/** Before approval, live keys work only for managers of the application's organization. Test keys always work. */
export function passesReview(state: State, app: Application, realm: Realm, userNo: number): boolean {
  return (
    realm === 'test' || app.approved_at !== null || managesOrganization(state, app.organization_no, userNo)
  );
}
