import * as operations from '../contract/users.js';
import { type Route, route } from '../http/route.js';
import { guarded } from '../http/steps/guarded.js';
import { answerFollow, answerFollows, answerUnfollow } from './follows.js';
import { answerMe } from './me.js';
import { answerMyCompanies } from './my-companies.js';

export const userRoutes: readonly Route[] = [
  route(operations.getMe, ...guarded, answerMe),
  route(operations.listMyCompanies, ...guarded, answerMyCompanies),
  route(operations.listMyFollows, ...guarded, answerFollows),
  route(operations.followCompany, ...guarded, answerFollow),
  route(operations.unfollowCompany, ...guarded, answerUnfollow),
];
