import { useEffect, useMemo, useState } from 'react'
import { BehaviorSubject, throttleTime } from 'rxjs'
import type { Microphone, MicrophoneLevel, MicrophoneState } from '../microphone/microphone-audio.js'
import type { MicrophoneOptions } from '../microphone/microphone-options.js'

/** The options of `microphone`, with a device that may change from render to render. */
export interface UseMicrophoneOptions extends Omit<MicrophoneOptions, 'deviceId'> {
  /** The device; another one is switched to without an interruption of the session. @default the default device */
  readonly deviceId?: string | undefined
}

/** A microphone and what it shows. */
export interface MicrophoneView {
  /** The audio, which records while a session reads it. The same object until the format changes. */
  readonly audio$: Microphone
  /** `idle` while no session reads the audio, then whether it records. */
  readonly state: MicrophoneState
  /** How loud the audio is, ten times per second; silence while nothing records. */
  readonly level: MicrophoneLevel
}

const silence: MicrophoneLevel = { rms: 0, peak: 0 }
const levelMs = 100

/** `useMicrophone` of a platform. */
export const createUseMicrophone =
  (microphone: (options: MicrophoneOptions) => Microphone) =>
  (options: UseMicrophoneOptions = {}): MicrophoneView => {
    const { deviceId = '', sampleRateHz, channels } = options
    const [device$] = useState(() => new BehaviorSubject(deviceId))
    // Constraints and the address of the worklet are those of the first render.
    const [rest] = useState(options)
    const audio$ = useMemo(
      () => microphone({ ...rest, sampleRateHz, channels, deviceId: device$ }),
      [rest, device$, sampleRateHz, channels],
    )
    const [state, setState] = useState<MicrophoneState>('idle')
    const [level, setLevel] = useState(silence)
    useEffect(() => device$.next(deviceId), [device$, deviceId])
    useEffect(() => {
      const states = audio$.state$.subscribe((changed) => {
        setState(changed)
        if (changed !== 'live') setLevel(silence)
      })
      const levels = audio$.levels$.pipe(throttleTime(levelMs)).subscribe(setLevel)
      return () => {
        states.unsubscribe()
        levels.unsubscribe()
      }
    }, [audio$])
    return { audio$, state, level }
  }
