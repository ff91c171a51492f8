import type { Job, JobPlan } from '../jobs/job.js'
import { element, setList } from './page.js'

/** What the session sends or has sent, and where to, as far as it is kept. */
export const renderFacts = ({ plan, tracks, state, document: { title, model, recognition = {} } }: Job): void => {
  const { phrases = [], language, reject } = recognition
  setList(element('facts-list'), [
    ['Source', title],
    ...(plan === undefined ? [['Model', model] as const] : connectionOf(plan, tracks, state)),
    ...(phrases.length === 0 ? [] : [['Phrases', phrases.join(', ')] as const]),
    ...(language === undefined ? [] : [['Language', language] as const]),
    ...(reject === undefined ? [] : [['Level of rejection', reject] as const]),
  ])
}

const connectionOf = (
  { config, model }: JobPlan,
  tracks: Job['tracks'],
  { channels: { length: count } }: Job['state'],
): readonly (readonly [string, string])[] => [
  [
    'Audio',
    `PCM, 16 bit, ${(tracks[0]?.sampleRateHz ?? 0) / 1000} kHz, ${count === 1 ? '1 channel' : `${count} channels`}`,
  ],
  ['Transport', `WebSocket, ${count === 1 ? 'one connection' : 'one connection for each channel'}`],
  ['Address', config.ws],
  ['Model', `${model.name}, version ${model.version}`],
  ['Projects', `${config.projects.join(', ') || 'none'} (over gRPC, which a page cannot use)`],
]
