import type { Job } from '../jobs/job.js'
import { element, setList } from './page.js'

/** What the session sends, and where to. */
export const renderFacts = ({ plan, tracks, state, title }: Job): void => {
  element('facts').hidden = plan === undefined
  if (plan === undefined) return
  const { config, model } = plan
  const count = state.channels.length
  setList(element('facts-list'), [
    ['Source', title],
    [
      'Audio',
      `PCM, 16 bit, ${(tracks[0]?.sampleRateHz ?? 0) / 1000} kHz, ${count === 1 ? '1 channel' : `${count} channels`}`,
    ],
    ['Transport', `WebSocket, ${count === 1 ? 'one connection' : 'one connection for each channel'}`],
    ['Address', config.ws],
    ['Model', `${model.name}, version ${model.version}`],
    ['Projects', `${config.projects.join(', ') || 'none'} (over gRPC, which a page cannot use)`],
  ])
}
