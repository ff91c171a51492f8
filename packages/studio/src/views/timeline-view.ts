import type { AudioTrack } from '../session/audio-track.js'
import { clock } from '../state/sentences.js'
import type { ConnectionSpan, Span, StudioState } from '../state/state.js'
import type { AudioPart } from '../state/word-cursor.js'
import { element, elementOf } from './page.js'
import { clampView, fit, follow, msAt, ticks, visible, xOf, zoom, type View } from './timeline-geometry.js'

/** What is drawn. */
export interface TimelineContent {
  readonly state: StudioState
  readonly tracks: readonly AudioTrack[]
  readonly endMs: number
  readonly cursorMs: number | undefined
  /** The audio that is played, or of the word at the cursor. */
  readonly highlight: AudioPart | undefined
}

interface Lane {
  readonly name: string
  readonly height: number
  readonly draw: (lane: LaneArea) => void
}

/** The part of a lane that belongs to one channel. */
interface LaneArea {
  readonly channel: number
  readonly top: number
  readonly height: number
}

const labelWidth = 88
const axisHeight = 20
const quietest = 24

/** The lanes of a session on a canvas; it draws when it is asked to. */
export class TimelineView {
  readonly #canvas = elementOf(HTMLCanvasElement, 'canvas')
  readonly #context = contextOf(this.#canvas)
  readonly #changed: () => void
  #view: View = { fromMs: 0, msPerPx: 20 }
  #isLive = true
  /** Shows all of the session with the next drawing, which knows how long it is. */
  #isFitting = false
  #width = 0
  #height = 0
  #content: TimelineContent | undefined
  #colors = colorsOf(this.#canvas)

  constructor(changed: () => void, placeCursor: (ms: number) => void) {
    this.#changed = changed
    new ResizeObserver(() => {
      this.#resize()
      changed()
    }).observe(this.#canvas)
    element('zoom-in').addEventListener('click', () => this.#zoom(0.5, this.#plotWidth / 2))
    element('zoom-out').addEventListener('click', () => this.#zoom(2, this.#plotWidth / 2))
    element('zoom-fit').addEventListener('click', () => this.showAll())
    element('zoom-live').addEventListener('click', () => this.#setLive(true))
    this.#listen(placeCursor)
  }

  /** Follows the newest audio again. */
  reset(): void {
    this.#view = { fromMs: 0, msPerPx: 20 }
    this.#setLive(true)
  }

  showAll(): void {
    this.#isFitting = true
    this.#setLive(false)
  }

  /** Scrolls if a position is out of sight. */
  reveal(ms: number): void {
    const x = xOf(this.#view, ms)
    if (x >= 0 && x <= this.#plotWidth) return
    this.#isLive = false
    this.#view = { ...this.#view, fromMs: Math.max(0, ms - (this.#plotWidth / 2) * this.#view.msPerPx) }
    this.#setLive(false)
  }

  /** Takes the colours of the page, after the scheme changed. */
  recolor(): void {
    this.#colors = colorsOf(this.#canvas)
  }

  render(content: TimelineContent): void {
    this.#content = content
    if (this.#width === 0) return
    if (this.#isLive) this.#view = follow(this.#view, this.#plotWidth, content.endMs)
    else if (this.#isFitting) this.#view = fit(this.#plotWidth, content.endMs)
    this.#isFitting = false
    const context = this.#context
    context.clearRect(0, 0, this.#width, this.#height)
    context.font = '12px system-ui, sans-serif'
    context.textBaseline = 'middle'
    this.#drawAxis()
    let top = axisHeight
    const channels = Math.max(1, content.state.channels.length)
    for (const lane of this.#lanes(channels)) {
      context.fillStyle = this.#colors.muted
      for (const [index, label] of this.#labelsOf(lane, channels).entries()) {
        const part = lane.height / (lane.name === 'audio' ? channels : 1)
        context.fillText(label, 0, top + (index + 0.5) * part, labelWidth - 8)
      }
      context.save()
      context.beginPath()
      context.rect(labelWidth, top, this.#plotWidth, lane.height)
      context.clip()
      context.translate(labelWidth, 0)
      const height = lane.height / channels
      for (let channel = 0; channel < channels; channel += 1) {
        lane.draw({ channel, top: top + channel * height, height })
      }
      context.restore()
      top += lane.height
      context.fillStyle = this.#colors.line
      context.fillRect(0, top - 1, this.#width, 1)
    }
    this.#drawCursor(top)
  }

  get #plotWidth(): number {
    return Math.max(1, this.#width - labelWidth)
  }

  #lanes(channels: number): readonly Lane[] {
    const small = 20
    const audio = this.#height - axisHeight - 6 * small
    return [
      { name: 'audio', height: audio, draw: (lane) => this.#drawAudio(lane) },
      { name: 'speech', height: small, draw: (lane) => this.#drawSpeech(lane, channels) },
      { name: 'partial', height: small, draw: (lane) => this.#drawPartials(lane) },
      { name: 'milestone', height: small, draw: (lane) => this.#drawMarks(lane, 'milestones') },
      { name: 'final', height: small, draw: (lane) => this.#drawMarks(lane, 'finals') },
      { name: 'connection', height: small, draw: (lane) => this.#drawConnection(lane) },
      { name: 'gap', height: small, draw: (lane) => this.#drawGaps(lane) },
    ]
  }

  /** The speakers, of whom the first is above the second in all lanes. */
  #labelsOf({ name }: Lane, channels: number): readonly string[] {
    return name === 'audio' && channels > 1 ? (this.#content?.state.channels ?? []) : [name]
  }

  #drawAxis(): void {
    const context = this.#context
    for (const ms of ticks(this.#view, this.#plotWidth)) {
      const x = labelWidth + Math.round(xOf(this.#view, ms))
      context.fillStyle = this.#colors.line
      context.fillRect(x, axisHeight - 4, 1, this.#height - axisHeight + 4)
      context.fillStyle = this.#colors.muted
      if (x + 40 < this.#width) context.fillText(clock(ms), x + 4, axisHeight / 2)
    }
  }

  #drawAudio({ channel, top, height }: LaneArea): void {
    const track = this.#content?.tracks[channel]
    if (track === undefined) return
    const context = this.#context
    const middle = top + height / 2
    // Quiet speakers fill the lane, too; noise does not.
    const scale = (height / 2 - 2) / Math.max(quietest, track.peaks.loudest)
    const { highlight, state } = this.#content ?? {}
    const mutes = (state?.muted ?? []).map((span) => visible(this.#view, this.#plotWidth, span))
    context.fillStyle = this.#colors.quiet
    for (const mute of mutes) if (mute !== undefined) context.fillRect(mute.x, top, mute.width, height)
    const own = highlight?.channel === channel ? highlight : undefined
    const ranges = [
      { color: this.#colors.edge, fromMs: -Infinity, toMs: Infinity },
      ...(own === undefined ? [] : [{ color: this.#colors.accent, ...own }]),
    ]
    for (const { color, fromMs, toMs } of ranges) {
      context.fillStyle = color
      context.beginPath()
      const first = Math.max(0, Math.floor(xOf(this.#view, fromMs)))
      const end = Math.min(this.#plotWidth, Math.ceil(xOf(this.#view, Math.min(toMs, track.durationMs))))
      for (let x = first; x < end; x += 1) {
        const peak = track.peaks.between(msAt(this.#view, x), msAt(this.#view, x + 1))
        if (peak === undefined) continue
        const [low, high] = peak
        context.rect(x, middle - high * scale - 0.5, 1, (high - low) * scale + 1)
      }
      context.fill()
    }
  }

  #drawSpeech({ channel, top, height }: LaneArea, channels: number): void {
    const { speech = [], rejected = [], speaking = [] } = this.#content?.state ?? {}
    const inset = channels > 1 ? 1 : 4
    const context = this.#context
    for (const span of newestFirst(speech)) {
      if (span.toMs < this.#view.fromMs - 60_000) break
      if (span.channel === channel) this.#bar(span, top + inset, height - 2 * inset, this.#colors.accent)
    }
    const outline = (span: Span, color: string): void => {
      const place = visible(this.#view, this.#plotWidth, span)
      if (place === undefined) return
      context.strokeStyle = color
      context.strokeRect(place.x + 0.5, top + inset + 0.5, Math.max(0, place.width - 1), height - 2 * inset - 1)
    }
    for (const span of newestFirst(rejected)) {
      if (span.toMs < this.#view.fromMs - 60_000) break
      if (span.channel === channel) outline(span, this.#colors.edge)
    }
    const open = speaking[channel]
    if (open !== undefined) outline(open, this.#colors.accent)
  }

  #drawPartials({ channel, top, height }: LaneArea): void {
    const track = this.#content?.tracks[channel]
    if (track === undefined) return
    this.#context.fillStyle = this.#colors.text
    const stepPx = Math.max(4, 100 / this.#view.msPerPx)
    const stepMs = stepPx * this.#view.msPerPx
    const endMs = Math.min(msAt(this.#view, this.#plotWidth), this.#content?.endMs ?? 0)
    for (let ms = Math.floor(this.#view.fromMs / stepMs) * stepMs; ms <= endMs; ms += stepMs) {
      if (track.partials.has(ms, ms + stepMs))
        this.#context.fillRect(Math.round(xOf(this.#view, ms)), top + height / 2 - 1, 2, 2)
    }
  }

  #drawMarks({ channel, top, height }: LaneArea, name: 'milestones' | 'finals'): void {
    const context = this.#context
    context.fillStyle = name === 'milestones' ? this.#colors.accent : this.#colors.text
    const radius = Math.min(5, height / 2 - 0.5)
    const middle = top + height / 2
    for (const mark of newestFirst(this.#content?.state[name] ?? [])) {
      const x = xOf(this.#view, mark.atMs)
      if (x < -radius) break
      if (mark.channel !== channel || x > this.#plotWidth + radius) continue
      context.beginPath()
      if (name === 'milestones') {
        context.moveTo(x, middle - radius)
        context.lineTo(x + radius, middle)
        context.lineTo(x, middle + radius)
        context.lineTo(x - radius, middle)
      } else context.rect(x - radius + 1, middle - radius + 1, 2 * radius - 2, 2 * radius - 2)
      context.fill()
    }
  }

  #drawConnection({ channel, top, height }: LaneArea): void {
    const context = this.#context
    const middle = Math.round(top + height / 2)
    for (const span of this.#content?.state.connection ?? []) {
      if (span.channel !== channel) continue
      const toMs = Math.min(span.toMs, this.#content?.endMs ?? 0)
      const place = visible(this.#view, this.#plotWidth, { fromMs: span.fromMs, toMs })
      if (place === undefined) continue
      const style = lineOf(span)
      if (style === 'none') continue
      context.strokeStyle = style === 'solid' ? this.#colors.accent : this.#colors.text
      context.lineWidth = style === 'solid' ? 3 : 2
      context.setLineDash(style === 'solid' ? [] : [3, 3])
      context.beginPath()
      context.moveTo(place.x, middle)
      context.lineTo(place.x + place.width, middle)
      context.stroke()
      context.setLineDash([])
      if (span.state === 'reconnecting') this.#cross(xOf(this.#view, span.fromMs), middle)
    }
    context.lineWidth = 1
  }

  #cross(x: number, y: number): void {
    const context = this.#context
    context.strokeStyle = this.#colors.text
    context.beginPath()
    context.moveTo(x - 4, y - 4)
    context.lineTo(x + 4, y + 4)
    context.moveTo(x - 4, y + 4)
    context.lineTo(x + 4, y - 4)
    context.stroke()
  }

  #drawGaps({ channel, top, height }: LaneArea): void {
    for (const gap of this.#content?.state.gaps ?? []) {
      if (gap.channel === channel)
        this.#bar(gap, top + 2, height - 4, gap.cause === 'silence' ? this.#colors.edge : this.#colors.text)
    }
  }

  #bar(span: { readonly fromMs: number; readonly toMs: number }, top: number, height: number, color: string): void {
    const place = visible(this.#view, this.#plotWidth, span)
    if (place === undefined) return
    this.#context.fillStyle = color
    this.#context.fillRect(place.x, top, place.width, height)
  }

  #drawCursor(bottom: number): void {
    const { cursorMs } = this.#content ?? {}
    const x = cursorMs === undefined ? -1 : xOf(this.#view, cursorMs)
    if (x < 0 || x > this.#plotWidth) return
    this.#context.fillStyle = this.#colors.accent
    this.#context.fillRect(labelWidth + Math.round(x), axisHeight - 4, 2, bottom - axisHeight + 4)
  }

  #listen(placeCursor: (ms: number) => void): void {
    const canvas = this.#canvas
    let drag: { readonly x: number; readonly fromMs: number; moved: boolean } | undefined
    canvas.addEventListener('pointerdown', (event) => {
      drag = { x: event.offsetX, fromMs: this.#view.fromMs, moved: false }
      canvas.setPointerCapture(event.pointerId)
    })
    canvas.addEventListener('pointermove', ({ offsetX }) => {
      if (drag === undefined || (!drag.moved && Math.abs(offsetX - drag.x) < 4)) return
      drag.moved = true
      this.#move({ ...this.#view, fromMs: drag.fromMs + (drag.x - offsetX) * this.#view.msPerPx })
    })
    canvas.addEventListener('pointerup', ({ offsetX }) => {
      if (drag?.moved === false && offsetX > labelWidth) placeCursor(msAt(this.#view, offsetX - labelWidth))
      drag = undefined
    })
    canvas.addEventListener('pointercancel', () => {
      drag = undefined
    })
    canvas.addEventListener(
      'wheel',
      (event) => {
        event.preventDefault()
        const isSideways = Math.abs(event.deltaX) > Math.abs(event.deltaY)
        if (isSideways) this.#move({ ...this.#view, fromMs: this.#view.fromMs + event.deltaX * this.#view.msPerPx })
        else this.#zoom(Math.exp(event.deltaY / 400), Math.max(0, event.offsetX - labelWidth))
      },
      { passive: false },
    )
  }

  #zoom(factor: number, x: number): void {
    const zoomed = zoom(this.#view, factor, x)
    if (this.#isLive) {
      this.#view = zoomed
      this.#changed()
    } else this.#move(zoomed)
  }

  #move(view: View): void {
    this.#view = clampView(view, this.#plotWidth, this.#content?.endMs ?? 0)
    this.#setLive(false)
  }

  #setLive(isLive: boolean): void {
    this.#isLive = isLive
    element('zoom-live').setAttribute('aria-pressed', String(isLive))
    this.#changed()
  }

  #resize(): void {
    const { clientWidth, clientHeight } = this.#canvas
    const ratio = window.devicePixelRatio
    this.#width = clientWidth
    this.#height = clientHeight
    this.#canvas.width = Math.round(clientWidth * ratio)
    this.#canvas.height = Math.round(clientHeight * ratio)
    this.#context.setTransform(ratio, 0, 0, ratio, 0, 0)
  }
}

const contextOf = (canvas: HTMLCanvasElement): CanvasRenderingContext2D => {
  const context = canvas.getContext('2d')
  if (context === null) throw new Error('The browser has no canvas.')
  return context
}

/** A solid line while audio flows, a dashed one while it is kept. */
const lineOf = ({ state }: ConnectionSpan): 'solid' | 'dashed' | 'none' => {
  if (state === 'streaming' || state === 'finalizing') return 'solid'
  return state === 'done' || state === 'stopped' || state === 'failed' || state === 'idle' ? 'none' : 'dashed'
}

function* newestFirst<A>(list: readonly A[]): Generator<A> {
  for (let at = list.length - 1; at >= 0; at -= 1) {
    const item = list[at]
    if (item !== undefined) yield item
  }
}

/** The colours of the style sheet as a canvas takes them. */
const colorsOf = (canvas: HTMLElement) => {
  const probe = document.createElement('span')
  canvas.after(probe)
  const colorOf = (name: string): string => {
    probe.style.color = `var(--${name})`
    return getComputedStyle(probe).color
  }
  const colors = {
    text: colorOf('text'),
    muted: colorOf('muted'),
    line: colorOf('line'),
    edge: colorOf('edge'),
    accent: colorOf('accent'),
    quiet: colorOf('quiet'),
  }
  probe.remove()
  return colors
}
