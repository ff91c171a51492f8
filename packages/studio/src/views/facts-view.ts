import type { Model, StudioConfig } from '../session/config.js'
import type { Source } from '../session/sources.js'
import { create, element } from './page.js'

/** What the session sends, and where to. */
export const renderFacts = (config: StudioConfig, model: Model, { title, sampleRateHz, channels }: Source): void => {
  const isMono = channels.length === 1
  const facts = [
    ['Source', title],
    ['Audio', `PCM, 16 bit, ${sampleRateHz / 1000} kHz, ${isMono ? '1 channel' : `${channels.length} channels`}`],
    ['Transport', `WebSocket, ${isMono ? 'one connection' : 'one connection for each channel'}`],
    ['Address', config.ws],
    ['Model', `${model.name}, version ${model.version}`],
    ['Projects', `${config.projects.join(', ') || 'none'} (over gRPC, which a page cannot use)`],
  ] as const
  element('facts-list').replaceChildren(
    ...facts.flatMap(([name, value]) => [create('dt', { text: name }), create('dd', { text: value })]),
  )
}
