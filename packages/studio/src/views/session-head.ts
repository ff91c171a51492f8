import type { Job } from '../jobs/job.js'
import type { StudioConfig } from '../session/config.js'
import { clockOf, loadSentence } from '../state/sentences.js'
import { jobSentence } from './jobs-view.js'
import { element, elementOf, setText } from './page.js'
import { betterModel } from './model-order.js'

/** The title of a session, what it does, and what can be done with it. */
export const renderSessionHead = (job: Job, title: string, notice: string | undefined): void => {
  const { state, origin } = job
  const isLive = job.status.type === 'running' && origin !== 'file' && origin !== 'cassette'
  setText(element('session-title'), title)
  setText(
    element('status-text'),
    notice ?? (isDone(job) ? factsOf(job) : isWordless(job) ? 'Failed.' : jobSentence(job)),
  )
  element('lamp').className =
    state.phase === 'reconnecting' ? 'lost' : ['streaming', 'finalizing'].includes(state.phase) ? 'on' : ''
  element('finalize').hidden = !isLive
  element('finalize').toggleAttribute('disabled', state.phase === 'finalizing')
  element('cancel').hidden = isLive || !job.isUnfinished
  element('retry').hidden = !canRetry(job)
  const progress = job.progress(performance.now())
  const bar = elementOf(HTMLProgressElement, 'progress')
  bar.hidden = progress === undefined
  bar.value = progress?.share ?? 0
  showNotice('session-warning', job.warning)
  showNotice('load', isLive ? loadSentence(state) : undefined)
}

/** Its file can be read once more. */
const canRetry = ({ status, origin, plan }: Job): boolean =>
  origin === 'file' && plan !== undefined && (status.type === 'failed' || status.type === 'cancelled')

/** It ended by itself, with all results. */
const isDone = ({ status, state }: Job): boolean => status.type === 'ended' && !state.stopped

/** Its fault then stands in place of the text. */
const isWordless = ({ status, state }: Job): boolean => status.type === 'failed' && state.lines.length === 0

const factsOf = ({ startedAtMs, durationMs, document }: Job): string => {
  const length = clockOf(durationMs || document.durationMs)
  const date = new Date(startedAtMs).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'short' })
  return ['Done', length, ...(document.model === '' ? [] : [document.model]), date].join(' · ')
}

const showNotice = (id: string, sentence: string | undefined): void => {
  element(id).hidden = sentence === undefined
  setText(element(id), sentence ?? '')
}

/** After a session without words: proposes a model for any speech in place of one that knows some sentences only. */
export const renderProposal = (job: Job, config: StudioConfig | undefined): void => {
  const model = job.plan?.model
  const isWordless = job.status.type === 'ended' && job.state.lines.every(({ words }) => words.length === 0)
  const better = model === undefined ? undefined : betterModel(config?.models ?? [], model)
  const isShown = isWordless && model !== undefined && better !== undefined
  element('proposal').hidden = !isShown
  if (!isShown) return
  const reads = model.isSample === true ? 'the sample call' : (model.reads ?? 'its own sentences')
  setText(element('proposal-text'), `The model ${model.name} recognizes ${reads} only, and found none.`)
  setText(element('proposal-take'), `Take ${better.name}: ${better.reads ?? ''}`)
}
