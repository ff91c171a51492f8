import { sizeText } from 'rxspeech-engines/catalogue/disk-space'
import type { PullStage } from 'rxspeech-engines/catalogue/pull-model'
import type { LiveScreen } from './live-screen.js'
import { lastColumns } from './plain-text.js'

const stageNames: Readonly<Record<PullStage, string>> = {
  download: 'Downloading',
  check: 'Verifying',
  unpack: 'Unpacking',
  load: 'Loading',
}

export interface PullViewOptions {
  readonly screen: LiveScreen
  /** What is pulled. */
  readonly name: string
  readonly nowMs: () => number
}

/** How often the line of a terminal is painted again, and how far a download gets between two lines elsewhere. */
const [paintMs, linePart, lineMs] = [100, 0.25, 5000]
const barColumns = 24

/** The progress of a pull: a line on a terminal; elsewhere a line for each stage, and some for a long download. */
export class PullView {
  readonly #screen: LiveScreen
  readonly #name: string
  readonly #nowMs: () => number
  #stage: PullStage | undefined
  #startMs = 0
  #startBytes = 0
  #shownMs = -Infinity
  #shownPart = 0

  constructor({ screen, name, nowMs }: PullViewOptions) {
    this.#screen = screen
    this.#name = name
    this.#nowMs = nowMs
  }

  progress(stage: PullStage, doneBytes: number, totalBytes: number | undefined): void {
    const now = this.#nowMs()
    const isFirst = stage !== this.#stage
    if (isFirst) {
      this.#stage = stage
      this.#startMs = now
      this.#startBytes = doneBytes
      this.#shownPart = 0
      this.#shownMs = -Infinity
    }
    if (this.#screen.showsProgress) {
      if (!isFirst && now - this.#shownMs < paintMs) return
      this.#screen.paint([], [this.#line(stage, doneBytes, totalBytes, now)])
      this.#shownMs = now
      return
    }
    const part = totalBytes === undefined ? 0 : doneBytes / totalBytes
    if (!isFirst && (part < this.#shownPart + linePart || part >= 1 || now - this.#shownMs < lineMs)) return
    const size = totalBytes === undefined || stage === 'load' ? '' : ` (${sizeText(totalBytes)})`
    const done = isFirst ? `${this.#name}${size}` : `${Math.floor(part * 100)} %`
    this.#screen.note(`rxspeech: ${stageNames[stage].toLowerCase()} ${done}\n`)
    this.#shownMs = now
    this.#shownPart = part
  }

  note(sentence: string): void {
    this.#screen.note(`rxspeech: ${sentence}\n`)
  }

  end(): void {
    this.#screen.clear()
  }

  #line(stage: PullStage, doneBytes: number, totalBytes: number | undefined, now: number): string {
    const { columns } = this.#screen
    const head = `${stageNames[stage]} ${this.#name}`
    if (stage === 'load') return lastColumns(head, columns)
    const seconds = (now - this.#startMs) / 1000
    const rate = seconds < 1 ? undefined : (doneBytes - this.#startBytes) / seconds
    const speed = rate === undefined || stage !== 'download' ? '' : `  ${(rate / 1e6).toFixed(1)} MB/s`
    if (totalBytes === undefined) return lastColumns(`${head}  ${sizeText(doneBytes)}${speed}`, columns)
    const part = Math.min(1, doneBytes / totalBytes)
    const left = rate === undefined || rate < 1 ? '' : `  ${timeText((totalBytes - doneBytes) / rate)} left`
    const percent = `${String(Math.floor(part * 100)).padStart(3)} %`
    const figures = [
      `${percent} of ${sizeText(totalBytes)}${speed}${left}`,
      `${percent} of ${sizeText(totalBytes)}`,
      percent,
    ]
    const bar = columns >= head.length + barColumns + 20 ? `${barOf(part)} ` : ''
    const figure = figures.find((text) => head.length + 2 + bar.length + text.length <= columns)
    return lastColumns(figure === undefined ? percent.trim() : `${head}  ${bar}${figure}`, columns)
  }
}

const barOf = (part: number): string => {
  const full = Math.round(part * barColumns)
  return '█'.repeat(full) + '░'.repeat(barColumns - full)
}

const timeText = (seconds: number): string => {
  const whole = Math.ceil(Math.max(0, seconds))
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')} min`
}
