import type { Job } from '../jobs/job.js'
import { progressSentence } from '../jobs/progress.js'
import { statusSentence } from '../state/sentences.js'
import { hasWords } from '../state/transcript.js'
import { create, element, setText } from './page.js'

interface JobActions {
  readonly remove: (job: Job) => void
}

/** The sessions of this page that wait, run, or failed, and those that were not kept. */
export class JobsView {
  readonly #list = element('jobs')
  readonly #items = new Map<Job, HTMLElement>()
  readonly #actions: JobActions

  constructor(actions: JobActions) {
    this.#actions = actions
  }

  render(jobs: readonly Job[], shown: Job | undefined, titleOf: (job: Job) => string): void {
    const listed = jobs.filter(({ isKept }) => isKept !== true)
    for (const [job, item] of this.#items) {
      if (listed.includes(job)) continue
      item.remove()
      this.#items.delete(job)
    }
    for (const [index, job] of listed.entries()) {
      const item = this.#items.get(job) ?? this.#create(job)
      if (this.#list.children[index] !== item) this.#list.insertBefore(item, this.#list.children[index] ?? null)
      update(item, job, titleOf(job), job === shown)
    }
    this.#list.hidden = listed.length === 0
  }

  #create(job: Job): HTMLElement {
    const link = create('a', {}, create('b'), create('span'))
    link.href = `#transcript=${job.id}`
    const progress = create('progress')
    progress.max = 1
    const remove = create('button', { className: 'plain', text: '×' })
    remove.type = 'button'
    remove.addEventListener('click', () => this.#actions.remove(job))
    const item = create('li', {}, link, remove, progress)
    this.#items.set(job, item)
    return item
  }
}

const update = (item: HTMLElement, job: Job, title: string, isShown: boolean): void => {
  const [link, remove, bar] = item.children
  const [name, text] = link?.children ?? []
  if (name instanceof HTMLElement) setText(name, title)
  if (text instanceof HTMLElement) setText(text, jobSentence(job))
  item.classList.toggle('failed', job.status.type === 'failed')
  if (isShown) link?.setAttribute('aria-current', 'true')
  else link?.removeAttribute('aria-current')
  remove?.setAttribute('aria-label', `${job.isUnfinished ? 'Cancel' : 'Remove'} ${title}`)
  const progress = job.progress(performance.now())
  if (!(bar instanceof HTMLProgressElement)) return
  bar.setAttribute('aria-label', `Progress of ${title}`)
  bar.hidden = progress === undefined
  bar.value = progress?.share ?? 0
}

/** What stands in place of a text that is not there. */
export const placeholderOf = (job: Job): string => {
  const { status, origin, isKept } = job
  if (status.type === 'failed') return status.sentence
  if (status.type === 'cancelled') return 'Cancelled before there was text.'
  if (status.type === 'ended')
    return `No words were found.${isKept === false ? ' The session is here until this page closes.' : ''}`
  return origin === 'microphone' ? 'Speak. The words appear here.' : 'The words appear here.'
}

/** What a session does now, in one sentence. */
export const jobSentence = (job: Job): string => {
  const { status, state, isKept } = job
  switch (status.type) {
    case 'queued':
      return 'Waiting for its turn.'
    case 'loading':
    case 'failed':
      return status.sentence
    case 'cancelled':
      return 'Cancelled.'
    case 'ended':
      return [
        state.stopped ? statusSentence(state) : hasWords(state) ? 'Done.' : 'No words were found.',
        ...(isKept === false ? ['Not kept.'] : []),
      ].join(' ')
    case 'running': {
      const progress =
        state.phase === 'streaming' || state.phase === 'finalizing' ? job.progress(performance.now()) : undefined
      return progress === undefined ? statusSentence(state) : `Transcribing: ${progressSentence(progress)}`
    }
  }
}
