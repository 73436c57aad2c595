#!/usr/bin/env bash
# Makes every picture of docs/pictures again, with the tool itself: docs/pictures.sh [carom]
# The argument is the command to use; without it the workspace is built. The same scenes give the same bytes.
set -euo pipefail
cd "$(dirname "$0")/.."
carom=("${1:-}")
[ -n "${carom[0]}" ] || carom=(cargo run --release --quiet --)
mkdir -p docs/pictures
draw() { # NAME.ENDING SCENE OPTION...
    local file="docs/pictures/$1" scene="$2"
    shift 2
    "${carom[@]}" run "$scene" --quiet --out "$file" "$@"
    printf '%8d  %s\n' "$(wc -c <"$file")" "$file"
}
draw pool_break.gif pool_break --time 0.8 --speed 0.25 --size 360x220 --trails
draw strandbeest.gif strandbeest --time 4 --size 360 --fps 16
draw trike.gif trike --time 5 --size 280 --fps 10 --speed 1.5
draw wrecking_ball.png wrecking_ball --time 3 --frames 4 --size 320
draw ragdoll.png ragdoll --time 1.5 --frames 4 --size 280x320
draw terrain_3d.png terrain_3d --time 1.2 --size 480 --trails
draw newton_cradle.svg newton_cradle --time 1.4 --frames 4 --size 240
draw bowling.svg bowling --time 1 --size 520
draw double_pendulum.svg double_pendulum --time 3 --size 320 --trails
"${carom[@]}" reproduce --all --quiet --page docs/reproduction.md --out docs/pictures/reproduction >/dev/null
rm docs/pictures/reproduction/*.csv
