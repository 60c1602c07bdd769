#!/bin/sh
# Runs as PID 1 of new namespaces. $1: an empty folder; $2: a folder that is shared with the machine;
# $3: the checkout, which may lie below a folder that is new inside.
# All that is written elsewhere goes to memory and is gone with the namespaces.
set -eu
place=$1 shared=$2 checkout=$3
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs "$place"
mkdir "$place/upper" "$place/work" "$place/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$place/upper,workdir=$place/work" "$place/root"
root=$place/root
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
for name in run tmp dev; do mount -t tmpfs -o mode=755 tmpfs "$root/$name"; done
chmod 1777 "$root/tmp"
mkdir "$root/dev/pts" "$root/dev/shm"
for device in null zero full random urandom tty; do
    touch "$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
mkdir -p "$root$checkout"
mount --bind "$checkout" "$root$checkout"
mount -o remount,bind,ro "$root$checkout"
mkdir -p "$root$shared"
mount --bind "$shared" "$root$shared"

units=$root/etc/systemd/system
for folder in "$root"/lib/systemd/system/sysinit.target.wants "$root"/lib/systemd/system/sockets.target.wants \
    "$root"/lib/systemd/system/local-fs.target.wants "$root"/lib/systemd/system/timers.target.wants; do
    for unit in "$folder"/*; do
        name=${unit##*/}
        case $name in dbus.socket | '*') continue ;; esac
        ln -sf /dev/null "$units/$name"
    done
done
for name in systemd-journald.service systemd-udevd.service systemd-user-sessions.service modprobe@.service \
    systemd-update-utmp-shutdown.service systemd-random-seed.service systemd-timesyncd.service \
    systemd-pstore.service getty@.service console-getty.service polkit.service; do
    ln -sf /dev/null "$units/$name"
done
rm -rf "$units"/*.target.wants "$root"/etc/systemd/logind.conf.d
: >"$root/etc/fstab"
cat >"$units/lab.target" <<'UNIT'
[Unit]
Requires=dbus.service systemd-logind.service
After=dbus.service systemd-logind.service
AllowIsolate=yes
UNIT
# Namespaces and filters of the service's own are of no use here, and not every kernel lets us nest them.
mkdir -p "$units/systemd-logind.service.d"
cat >"$units/systemd-logind.service.d/plain.conf" <<'UNIT'
[Service]
PrivateTmp=no
ProtectSystem=no
ProtectHome=no
ProtectClock=no
ProtectControlGroups=no
ProtectHostname=no
ProtectKernelLogs=no
ProtectKernelModules=no
RestrictNamespaces=no
DeviceAllow=
DevicePolicy=auto
IPAddressDeny=
SystemCallFilter=
MemoryDenyWriteExecute=no
UNIT
mkdir -p "$root/etc/systemd/system.conf.d"
printf '[Manager]\nDefaultTimeoutStopSec=5s\n' >"$root/etc/systemd/system.conf.d/lab.conf"
cd "$root"
mkdir -p old
pivot_root . old
exec chroot . sh -c 'umount -l /old; exec env -i container=lab PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --unit=lab.target --log-target=console --log-level=info --show-status=no'
