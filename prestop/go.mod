module vacate.dev/prestop

go 1.22
