import {
  asyncScheduler,
  defer,
  ignoreElements,
  lastValueFrom,
  merge,
  takeUntil,
  tap,
  timer,
  type SchedulerLike,
} from 'rxjs'
import { notAllowedToSend, type MessageBus } from '../connection/bus.js'
import { aliveSubject, decodeEngineAdvert, decodeModelsAdvert, modelsSubject, whoSubject } from './protocol.js'
import type { RosterEngine } from './placement.js'
import { Roster } from './roster.js'

/**
 * The engine processes that are there, by name. Listens for `waitMs`: an engine advertises its places at
 * least twice a second, and its models on request. Rejects with `refused` if the server does not allow this.
 */
export const listEngines = async (
  bus: MessageBus,
  waitMs: number,
  scheduler: SchedulerLike = asyncScheduler,
): Promise<readonly RosterEngine[]> => {
  const roster = new Roster()
  const alive$ = bus.messages(aliveSubject('*')).pipe(
    tap((message) => {
      const advert = decodeEngineAdvert(message)
      if (advert !== undefined) roster.alive(advert)
    }),
  )
  const models$ = bus.messages(modelsSubject('*')).pipe(
    tap((message) => {
      const advert = decodeModelsAdvert(message)
      if (advert !== undefined) roster.models(advert)
    }),
  )
  const ask$ = defer(() => {
    bus.publish(whoSubject, '')
    return []
  })
  const refused$ = bus.refused$.pipe(
    tap((subject) => {
      throw notAllowedToSend(subject)
    }),
  )
  await lastValueFrom(
    merge(alive$, models$, refused$, ask$).pipe(ignoreElements(), takeUntil(timer(waitMs, scheduler))),
    {
      defaultValue: undefined,
    },
  )
  const nameOf = ({ address: { name, instance } }: RosterEngine): string => `${name} ${instance}`
  return roster.engines.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
}
