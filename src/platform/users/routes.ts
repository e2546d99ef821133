import * as operations from '../contract/users.js';
import { type Route, route } from '../http/route.js';
import { bearer } from '../http/steps/bearer.js';
import { requireScope } from '../http/steps/require-scope.js';
import { requireUser } from '../http/steps/require-user.js';
import { answerFollow, answerFollows, answerUnfollow } from './follows.js';
import { answerMe } from './me.js';
import { answerMyCompanies } from './my-companies.js';

const [profile, ...moreFollows] = operations.listMyFollows.scopes;
const follows = [...bearer, requireScope(profile, ...moreFollows), requireUser(profile)] as const;
const writes = [...bearer, requireScope('write:follows'), requireUser('write:follows')] as const;
const companies = [...bearer, requireScope('read:companies'), requireUser('read:companies')] as const;

export const userRoutes: readonly Route[] = [
  route(operations.getMe, ...bearer, requireUser('read:profile'), answerMe),
  route(operations.listMyCompanies, ...companies, answerMyCompanies),
  route(operations.listMyFollows, ...follows, answerFollows),
  route(operations.followCompany, ...writes, answerFollow),
  route(operations.unfollowCompany, ...writes, answerUnfollow),
];
