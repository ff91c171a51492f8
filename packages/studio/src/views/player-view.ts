import type { Playback } from '../session/playback.js'
import { clockOf } from '../state/sentences.js'
import { remember, remembered } from './memory.js'
import { element, elementOf, setText } from './page.js'

/** How far a key jumps. */
const jumpMs = 5000

/** The bar that plays the whole recording. */
export class PlayerView {
  readonly #playback: Playback
  readonly #position = elementOf(HTMLInputElement, 'position')
  readonly #speed = elementOf(HTMLSelectElement, 'speed')
  #durationMs = 0

  constructor(playback: Playback) {
    this.#playback = playback
    element('play').addEventListener('click', () => this.toggle())
    this.#position.addEventListener('input', () => {
      playback.positionMs = this.#position.valueAsNumber
    })
    const setSpeed = (): void => {
      playback.rate = Number(this.#speed.value)
    }
    this.#speed.value = remembered('speed') ?? '1'
    if (this.#speed.selectedIndex === -1) this.#speed.value = '1'
    setSpeed()
    this.#speed.addEventListener('change', () => {
      remember('speed', this.#speed.value)
      setSpeed()
    })
    const sound = elementOf(HTMLInputElement, 'sound')
    sound.addEventListener('change', () => {
      playback.isMuted = !sound.checked
    })
  }

  render(durationMs: number): void {
    const { hasAudio, isPlaying, positionMs } = this.#playback
    element('player').hidden = !hasAudio
    if (!hasAudio) return
    this.#durationMs = durationMs
    setText(element('play'), isPlaying ? 'Pause' : 'Play')
    this.#position.max = String(Math.max(1, Math.ceil(durationMs)))
    this.#position.value = String(positionMs)
    const text = `${clockOf(positionMs)} / ${clockOf(durationMs)}`
    setText(element('position-text'), text)
    this.#position.setAttribute('aria-valuetext', `${clockOf(positionMs)} of ${clockOf(durationMs)}`)
  }

  toggle(): void {
    if (this.#playback.isPlaying) this.#playback.pause()
    else this.#playback.play()
  }

  pause(): void {
    this.#playback.pause()
  }

  jump(direction: 1 | -1): void {
    const ms = this.#playback.positionMs + direction * jumpMs
    this.#playback.positionMs = Math.max(0, Math.min(this.#durationMs, ms))
  }

  /** The next or the previous speed. */
  changeSpeed(step: 1 | -1): void {
    const index = this.#speed.selectedIndex + step
    if (index < 0 || index >= this.#speed.options.length) return
    this.#speed.selectedIndex = index
    this.#speed.dispatchEvent(new Event('change'))
  }
}
