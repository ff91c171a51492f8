import type { StartRequest } from '../../protocol/dataflow-messages.js'
import { eventName } from '../../protocol/dataflow-events.js'
import type { SessionWatch, StartedSession } from '../monitor/session-watch.js'
import type { SpeechMark } from '../monitor/speech-times.js'
import type { NodeItem } from '../nodes/core/node.js'
import type { ProjectSession } from './project-session.js'

/** What the account of a session says of it from its start on. */
export const startedSession = (run: ProjectSession, { tenant, projectName, audio }: StartRequest): StartedSession => ({
  tenant,
  project: projectName,
  sampleRateHz: audio.sampleRateHz,
  pendingSamples: () => run.pendingSamples,
  ...(run.model === undefined ? {} : { model: run.model }),
})

/** What the events of recognition say of speech, whichever node raised them. */
const speechMarks: ReadonlyMap<string, SpeechMark['type']> = new Map([
  [eventName.speechStarted, 'speech-started'],
  [eventName.speechEnded, 'speech-ended'],
  [eventName.partial, 'partial'],
  [eventName.milestone, 'milestone'],
])

/** Notes what an event says of speech, where it does. */
export const noteSpeech = (watch: SessionWatch | undefined, item: NodeItem): void => {
  if (watch === undefined || item.type !== 'event') return
  const { name, channel = -1, startMs = -1, endMs = -1 } = item.event
  const type = speechMarks.get(name)
  if (type !== undefined) watch.heard({ type, startMs, endMs }, channel)
}
