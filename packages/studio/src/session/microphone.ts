import type { Observable } from 'rxjs'
import { microphone } from 'rxspeech/microphone'

/** The microphone of the page: 16-bit PCM, one channel, in chunks of 20 ms. */
export const openMicrophone = (deviceId: string, sampleRateHz: 8000 | 16_000): Observable<Uint8Array> =>
  microphone({ deviceId, sampleRateHz })

/** The microphones of this computer; without names until a person has allowed one. */
export const listMicrophones = async (): Promise<readonly MediaDeviceInfo[]> => {
  const devices = await navigator.mediaDevices.enumerateDevices().catch(() => [])
  return devices.filter(({ kind, deviceId }) => kind === 'audioinput' && deviceId !== '')
}
