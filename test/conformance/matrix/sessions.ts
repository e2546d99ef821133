import * as attribution from '../../../src/contract/attribution.js';
import { createIntent, getIntent, listIntents, previewIntent } from '../../../src/contract/intents.js';
import * as invites from '../../../src/contract/invite-links.js';
import * as referrals from '../../../src/contract/referrals.js';
import * as sessions from '../../../src/contract/sessions.js';
import type { Cells, MatrixRow } from './run.js';

const unauthorized = [401, 'unauthorized'] as const;
const lacking = [403, 'insufficient_scope'] as const;
const forbidden = [403, 'forbidden'] as const;
const missing = [404, 'not_found'] as const;
const invalid = [422, 'validation_error'] as const;
const unscoped = {
  none: unauthorized,
  garbage: unauthorized,
  publishable: lacking,
  application: lacking,
  unscoped: lacking,
} as const;

/** On an offering of the company: whoever runs it gets `answer`, a stranger learns nothing, a bound token is told. */
const onOffering = (answer: Cells['owner']): Cells => ({
  ...unscoped,
  owner: answer,
  stranger: missing,
  company: answer,
  otherCompany: forbidden,
  // The syndicate that brings its members to the round runs it as well.
  syndicate: answer,
  otherSyndicate: forbidden,
});

/** Nothing of an account can be a stranger's. */
const ofAccount = (answer: Cells['owner']): Cells => ({
  ...unscoped,
  owner: answer,
  stranger: answer,
  company: answer,
  otherCompany: answer,
  syndicate: answer,
  otherSyndicate: answer,
});

const credentials = [403, 'app_credentials_required'] as const;
const ofApplication = (answer: Cells['owner']): Cells => ({
  ...unscoped,
  application: answer,
  owner: credentials,
  stranger: credentials,
  unscoped: credentials,
  company: credentials,
  otherCompany: credentials,
  syndicate: credentials,
  otherSyndicate: credentials,
});

/** The sandbox's installations hold no scope of a program. */
const installed = {
  company: lacking,
  otherCompany: lacking,
  syndicate: lacking,
  otherSyndicate: lacking,
} as const;
const ofProgram: Cells = { ...onOffering(200), ...installed };
const ofPartner = (answer: Cells['owner']): Cells => ({ ...ofAccount(answer), ...installed });

/**
 * Sessions, intents, invite links, referral codes and attribution, against every kind of credential. Bodies are empty: what has passed every gate is told what is missing.
 */
export const sessionMatrix: readonly MatrixRow[] = [
  { operation: sessions.listOfferingSessions, cells: onOffering(200) },
  { operation: sessions.createSession, cells: onOffering(invalid) },
  { operation: sessions.listSessions, cells: ofAccount(200) },
  { operation: sessions.getSession, cells: ofAccount(missing) },
  { operation: sessions.cancelSession, cells: ofAccount(missing) },
  { operation: createIntent, cells: ofAccount(invalid) },
  { operation: previewIntent, cells: ofAccount(invalid) },
  { operation: listIntents, cells: ofAccount(200) },
  { operation: getIntent, cells: ofAccount(missing) },
  { operation: invites.listInviteLinks, cells: onOffering(200) },
  { operation: invites.createInviteLink, cells: onOffering(invalid) },
  { operation: invites.bulkInviteLinks, cells: onOffering(invalid) },
  { operation: invites.getInviteLink, cells: onOffering(missing) },
  { operation: invites.updateInviteLink, cells: onOffering(invalid) },
  { operation: invites.cancelInviteLink, cells: onOffering(missing) },
  { operation: invites.resendInviteLink, cells: onOffering(missing) },
  { operation: referrals.createReferralCode, cells: ofApplication(201) },
  { operation: referrals.listReferralCodes, cells: ofApplication(200) },
  { operation: referrals.getReferralCode, cells: ofApplication(missing) },
  { operation: referrals.disableReferralCode, cells: ofApplication(missing) },
  { operation: attribution.attributionStats, cells: ofProgram },
  { operation: attribution.attributionInvestments, cells: ofProgram },
  { operation: attribution.attributionMe, cells: ofPartner(200) },
  { operation: attribution.attributionCampaigns, cells: ofPartner(200) },
  { operation: attribution.registerPartner, cells: ofPartner(invalid) },
  { operation: attribution.listAttributionInvites, cells: ofPartner(200) },
  { operation: attribution.createAttributionInvite, cells: ofPartner(invalid) },
  { operation: attribution.revokeAttributionInvite, cells: ofPartner(missing) },
];
